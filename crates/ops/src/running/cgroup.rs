//! A cgroup for the processes of one job, where this user may make one: below the cgroup of this
//! process, in cgroup v2 (Linux 5.14 and later).

use rustix::fs::{Access, access};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The cgroup of a job. It is removed with this value if no process is left in it.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// Makes one; nothing where that is not possible.
    pub(super) fn create() -> Option<Self> {
        let read = |path| fs::read_to_string(path).ok();
        let own = own(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)?;
        let folder = own.join(format!("bellwether-{:032x}", bellwether_net::draw()));
        fs::create_dir(&folder).ok()?;
        let made = Cgroup { folder };
        // Moving a process needs the right to change the cgroup that it leaves, too.
        let files = [made.folder.join("cgroup.kill"), own.join("cgroup.procs")];
        files.iter().all(|file| access(file, Access::WRITE_OK).is_ok()).then_some(made)
    }

    /// The one that another process has made.
    pub(super) fn at(folder: PathBuf) -> Self {
        Cgroup { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills all processes in it.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }

    /// Whether no process is left in it, or below it.
    pub(super) fn is_empty(&self) -> bool {
        match fs::read_to_string(self.folder.join("cgroup.events")) {
            Ok(events) => events.lines().any(|line| line == "populated 0"),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// This process, and what it starts, are in that cgroup from now on.
pub(super) fn enter(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.procs"), "0")
}

/// Removes a cgroup with those below it: commands within this job may have been killed before they
/// removed theirs. The system removes none that has a process.
fn remove(folder: &Path) {
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove(&entry.path());
    }
    let _ = fs::remove_dir(folder);
}

/// Where the cgroup of a process is, by what the system says about its cgroups and its mounts.
fn own(cgroups: &str, mounts: &str) -> Option<PathBuf> {
    let path = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(3);
        let (root, point) = (words.next()?, words.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        system.starts_with("cgroup2 ").then(|| Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroup_of_a_process_is_found_where_version_2_is_mounted() {
        let mounts = "24 1 0:22 / /proc rw,nosuid - proc proc rw\n\
                      31 24 0:28 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:7 - cgroup2 none rw\n";
        let found = |cgroups: &str| own(cgroups, mounts);
        let expected = PathBuf::from("/sys/fs/cgroup/unified/user.slice/a.scope");
        assert_eq!(found("4:memory:/x\n0::/user.slice/a.scope\n"), Some(expected));
        assert_eq!(found("0::/\n"), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(found("4:memory:/x\n"), None);
        // In a container a part of the tree is mounted.
        let mounts = "41 31 0:38 /docker/7 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(own("0::/docker/7/a\n", mounts), Some("/sys/fs/cgroup/a".into()));
        assert_eq!(own("0::/docker/8\n", mounts), None);
    }

    /// In a folder that looks like a cgroup: the files of a real one do more, and have these names.
    #[test]
    fn a_cgroup_is_entered_killed_and_found_empty_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bellwether-1");
        fs::create_dir_all(path.join("bellwether-2")).unwrap();
        let job = Cgroup::at(path.clone());
        fs::write(path.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        assert!(!job.is_empty());
        enter(&path).unwrap();
        job.kill();
        let read = |name| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!([read("cgroup.procs"), read("cgroup.kill")], ["0", "1"]);
        fs::write(path.join("cgroup.events"), "populated 0\nfrozen 0\n").unwrap();
        assert!(job.is_empty());
        // A real cgroup goes with its files.
        for name in ["cgroup.events", "cgroup.procs", "cgroup.kill"] {
            fs::remove_file(path.join(name)).unwrap();
        }
        drop(job);
        assert!(!path.exists(), "with the one below it");
        assert!(Cgroup::at(path).is_empty(), "one that is gone has no process");
    }
}
