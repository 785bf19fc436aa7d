//! The wire types of `proto/client.proto`, `proto/envelope.proto` and `proto/etcd.proto`, which document them.
//!
//! The generated code is kept in the repository, so that an application that links the client
//! builds neither a protobuf compiler nor a code generator. The test below fails when it is out of
//! date; `UPDATE=1 cargo test -p bellwether-api generated` writes it again.

#[rustfmt::skip]
pub mod client;
#[rustfmt::skip]
pub mod envelope;
#[cfg(feature = "etcd")]
#[rustfmt::skip]
pub mod etcd;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn generated_code_is_up_to_date() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = tempfile::tempdir().unwrap();
        let files = ["client.proto", "envelope.proto", "etcd.proto"];
        let descriptors = protox::compile(files, [root.join("proto")]).unwrap();
        prost_build::Config::new()
            // A letter's payload is handed on as it is: sharing the bytes saves copying them.
            .bytes([".bellwether.envelope"])
            .disable_comments(["."])
            .out_dir(out.path())
            .compile_fds(descriptors)
            .unwrap();
        for name in ["client", "envelope", "etcd"] {
            let new = fs::read_to_string(out.path().join(format!("bellwether.{name}.rs"))).unwrap();
            let path = root.join(format!("src/generated/{name}.rs"));
            if std::env::var_os("UPDATE").is_some() {
                fs::write(&path, &new).unwrap();
            }
            let kept = fs::read_to_string(&path).unwrap();
            assert!(kept == new, "{} is out of date; UPDATE=1 writes it", path.display());
        }
    }
}
