//! Certificates, and what is said when they are wrong.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::id;
use bellwether_net::{Identity, certs, check_cluster};
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_is_missing_is_made_and_what_exists_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("certs");
    let written = certs::prepare_all(&folder, "test", &[id(1), id(2)], &[], 30).unwrap();
    assert_eq!(written.len(), 6);
    for path in &written {
        let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let key = path.to_str().unwrap().ends_with("-key.pem");
        assert_eq!(mode & 0o077 == 0, key, "{} {mode:o}", path.display());
    }
    let before: Vec<_> = written.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(certs::prepare_all(&folder, "test", &[id(1), id(2)], &[], 30).unwrap().is_empty());
    assert_eq!(certs::prepare_all(&folder, "test", &[id(2), id(3)], &[], 30).unwrap().len(), 2);
    let after: Vec<_> = written.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert_eq!(before, after);
    for number in 1..=3 {
        certs::Files::of(&folder, id(number)).load("test", id(number)).unwrap();
    }
    // The authority's key is needed only to sign.
    std::fs::rename(folder.join("ca-key.pem"), folder.join("away")).unwrap();
    assert!(certs::prepare_all(&folder, "test", &[id(1)], &[], 30).unwrap().is_empty());
    let error = certs::prepare_all(&folder, "test", &[id(4)], &[], 30).unwrap_err().to_string();
    assert!(error.contains("ca-key.pem") && error.contains("is not"), "{error}");
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certs::prepare_all(folder, "test", &[id(1), id(2)], &[], 30).unwrap();
    let files = certs::Files::of(folder, id(1));
    let other = certs::Files::of(folder, id(2));
    let error = |files: &certs::Files, cluster, number| {
        files.load(cluster, id(number)).unwrap_err().to_string()
    };

    let text = error(&files, "test", 2);
    assert!(text.contains("member-1.test.bellwether"), "{text}");
    assert!(text.contains("member-2.test.bellwether"), "{text}");
    assert!(error(&files, "prod", 1).contains("member-1.prod.bellwether"));
    assert!(error(&files, "Prod!", 1).contains("cluster name `Prod!`"));

    let swapped = certs::Files { key: other.key, ..files.clone() };
    let text = error(&swapped, "test", 1);
    assert!(text.contains("member-2-key.pem") && text.contains("does not belong"), "{text}");

    let missing = certs::Files { certificate: folder.join("nowhere.pem"), ..files.clone() };
    let text = error(&missing, "test", 1);
    assert!(text.contains("nowhere.pem") && text.contains("cannot read"), "{text}");

    let garbage = folder.join("garbage.pem");
    std::fs::write(&garbage, "no PEM at all").unwrap();
    for files in [
        certs::Files { ca: garbage.clone(), ..files.clone() },
        certs::Files { certificate: garbage.clone(), ..files.clone() },
        certs::Files { key: garbage.clone(), ..files.clone() },
    ] {
        let text = error(&files, "test", 1);
        assert!(text.contains("garbage.pem") && text.contains("in PEM form"), "{text}");
    }

    let stranger = certs::authority("test", 30).unwrap();
    let pair = certs::member("test", &stranger, id(1), 30).unwrap();
    let ca = std::fs::read_to_string(&files.ca).unwrap();
    let text = Identity::from_pem("test", id(1), &ca, &pair.certificate, &pair.key).unwrap_err();
    assert!(text.to_string().contains("not signed by"), "{text}");
}

#[test]
fn clients_have_certificates_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let written = certs::prepare_all(folder, "test", &[id(1)], &["app", "cron-2"], 30).unwrap();
    assert_eq!(written.len(), 8);
    let files = certs::Files::of_client(folder, "cron-2");
    assert!(files.certificate.ends_with("client-cron-2.pem"), "{files:?}");
    let client = files.load_client().unwrap();
    assert_eq!((client.cluster(), client.name()), ("test", "cron-2"));
    assert!(certs::prepare_all(folder, "test", &[], &["app"], 30).unwrap().is_empty());
    let error = certs::prepare_all(folder, "test", &[], &["App"], 30).unwrap_err().to_string();
    assert!(error.contains("client name `App`"), "{error}");
    // A client's files are of no use to a member, whatever it is called.
    let error = files.load("test", id(1)).unwrap_err().to_string();
    assert!(error.contains("cron-2.client.test.bellwether"), "{error}");
    certs::prepare_all(folder, "test", &[], &["member-1"], 30).unwrap();
    certs::Files::of_client(folder, "member-1").load("test", id(1)).unwrap_err();
}

#[test]
fn cluster_names_are_plain() {
    for good in ["a", "prod-eu-1", "x".repeat(40).as_str()] {
        check_cluster(good).unwrap();
    }
    for bad in ["", "-a", "a-", "A", "a.b", "a b", "é", "x".repeat(41).as_str()] {
        assert!(check_cluster(bad).is_err(), "{bad}");
    }
}
