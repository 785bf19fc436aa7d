//! Puts the page into the program.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page.rs"), page(&workspace.join("web/dist"))?)
}

/// All files below `web/dist`, as a list; none if the page was not built. The folder itself is in
/// the repository, so that cargo notices when it is filled.
fn page(folder: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut list = String::from("&[\n");
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop().filter(|next| next.is_dir()) {
        for path in sorted(&next)? {
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if !name.ends_with(".gz") && !name.starts_with('.') {
                let bytes = path.display().to_string();
                let gzip = format!("{bytes}.gz");
                let gzip = match Path::new(&gzip).exists() {
                    true => format!("include_bytes!({gzip:?})"),
                    false => "&[]".to_owned(),
                };
                let _ = writeln!(
                    list,
                    "File {{ path: {name:?}, bytes: include_bytes!({bytes:?}), gzip: {gzip} }},"
                );
            }
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
