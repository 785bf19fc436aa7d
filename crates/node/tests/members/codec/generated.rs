//! The generated code is kept in the repository, so that building a member builds neither a protobuf
//! compiler nor a code generator. `UPDATE=1 cargo test -p bellwether-node generated` writes it again.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let descriptors = protox::compile(["member.proto"], [root.join("proto")]).unwrap();
    prost_build::Config::new()
        .disable_comments(["."])
        .out_dir(out.path())
        .compile_fds(descriptors)
        .unwrap();
    let new = fs::read_to_string(out.path().join("bellwether.member.rs")).unwrap();
    let path = root.join("src/codec/generated.rs");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &new).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    assert!(kept == new, "{} is out of date; UPDATE=1 writes it", path.display());
}
