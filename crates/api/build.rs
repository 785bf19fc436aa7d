//! Compiles every file in `proto/` to Rust, without a system `protoc`.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("proto");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "proto") {
            println!("cargo::rerun-if-changed={}", path.display());
            files.push(path);
        }
    }
    files.sort();
    let descriptors = protox::compile(&files, [&folder])?;
    prost_build::Config::new()
        // A letter's payload is handed on as it is: sharing the bytes saves copying them.
        .bytes([".bellwether.envelope"])
        .compile_fds(descriptors)?;
    Ok(())
}
