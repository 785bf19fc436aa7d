//! Puts the page and the OpenAPI documents into the program, compressed.

use miniz_oxide::deflate::compress_to_vec;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web").canonicalize()?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page.rs"), page(&web.join("dist"), &out)?)?;
    for name in ["member", "up", "explorer"] {
        let path = web.join("openapi").join(name).with_extension("json");
        println!("cargo::rerun-if-changed={}", path.display());
        fs::write(out.join(name).with_extension("json.gz"), gzip(&fs::read(path)?))?;
    }
    Ok(())
}

/// All files below `web/dist`, as a list; none if the page was not built. The folder itself is in
/// the repository, so that cargo notices when it is filled.
fn page(folder: &Path, out: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut list = String::from("&[\n");
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop().filter(|next| next.is_dir()) {
        for path in sorted(&next)? {
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if !name.ends_with(".gz") && !name.starts_with('.') {
                let packed = out.join(name.replace('/', "-") + ".gz");
                fs::write(&packed, gzip(&fs::read(path)?))?;
                let packed = packed.display().to_string();
                let _ = writeln!(
                    list,
                    "File {{ path: {name:?}, packed: Packed(include_bytes!({packed:?})) }},"
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

/// A file as `gzip` writes it (RFC 1952).
fn gzip(bytes: &[u8]) -> Vec<u8> {
    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    let mut packed = HEAD.to_vec();
    packed.extend(compress_to_vec(bytes, 9));
    packed.extend(crc32(bytes).to_le_bytes());
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed
}

fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
}
