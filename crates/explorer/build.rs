//! Puts the scenarios into the program.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("scenarios.rs"), scenarios(&workspace.join("scenarios"))?)
}

/// All files below `scenarios/`, as a list of names and texts.
fn scenarios(folder: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut list = String::from("&[\n");
    for family in sorted(folder)? {
        if !family.is_dir() {
            continue;
        }
        for file in sorted(&family)? {
            let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
            // Writing to a string cannot fail.
            let _ = writeln!(list, "({name:?}, include_str!({:?})),", file.display().to_string());
        }
    }
    list.push(']');
    Ok(list)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}
