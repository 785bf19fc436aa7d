//! Puts the scenarios and the list of the gallery into the program, compressed.

use miniz_oxide::deflate::compress_to_vec;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let texts = texts(&workspace.join("scenarios"))?;
    fs::write(out.join("scenarios.z"), compress_to_vec(texts.as_bytes(), 9))
}

/// The gallery's list, and then the name and the text of each file below `scenarios/`. A zero ends
/// each of them.
fn texts(folder: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut texts = fs::read_to_string(folder.join("gallery.txt"))? + "\0";
    for family in sorted(folder)? {
        if !family.is_dir() {
            continue;
        }
        for file in sorted(&family)? {
            let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
            texts += &format!("{name}\0{}\0", fs::read_to_string(&file)?);
        }
    }
    Ok(texts)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}
