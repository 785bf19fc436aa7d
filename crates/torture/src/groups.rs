//! Control groups: limits on the memory of a member, and on what it writes to its disk.
//!
//! Both versions of them serve. In version 1 every controller has a tree of its own; in version 2 all
//! share one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Where systems mount them.
pub(super) const MOUNTED: &str = "/sys/fs/cgroup";
/// What the groups of a run are called: this, the number of its process, and that of the member.
const PREFIX: &str = "bellwether-torture-";

/// The groups of a run. They are removed when this is dropped.
pub(super) struct Groups {
    /// Or why memory cannot be limited.
    memory: Result<Controller, String>,
    /// Or why writes cannot be limited.
    writes: Result<Controller, String>,
}

/// What keeps a kind of limit.
struct Controller {
    root: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Groups {
    /// Makes a group for each member, below this directory.
    pub(super) fn new(mounted: &Path, members: u32) -> Groups {
        let memory = Controller::find(mounted, "memory", "memory");
        let writes = Controller::find(mounted, "blkio", "io");
        let make = |controller: Controller| {
            // Those of runs that were killed.
            controller.remove(|run| !Path::new("/proc").join(run.to_string()).exists());
            for group in (1..=members).map(|id| controller.group(id)) {
                fs::create_dir_all(&group).map_err(|error| unable("make", &group, &error))?;
            }
            Ok(controller)
        };
        Groups { memory: memory.and_then(make), writes: writes.and_then(make) }
    }

    fn controllers(&self) -> impl Iterator<Item = &Controller> {
        [&self.memory, &self.writes].into_iter().flatten()
    }

    /// What starts a member in its groups.
    pub(super) fn launcher(&self, id: u32) -> Vec<OsString> {
        let enter = |controller: &Controller| {
            format!("echo $$ > {}/cgroup.procs; ", controller.group(id).display())
        };
        let enter = self.controllers().map(enter).collect::<String>() + "exec \"$@\"";
        ["sh", "-c", &enter, "sh"].map(OsString::from).to_vec()
    }

    /// Limits a member to this percentage of the memory that it uses now.
    pub(super) fn limit_memory(&self, id: u32, percent: u64) -> Result<(), String> {
        let controller = self.memory.as_ref().map_err(String::clone)?;
        let (used, limit) = match controller.version {
            Version::One => ("rss ", "memory.limit_in_bytes"),
            Version::Two => ("anon ", "memory.max"),
        };
        let path = controller.group(id).join("memory.stat");
        let stat = fs::read_to_string(&path).map_err(|error| unable("read", &path, &error))?;
        let used = stat.lines().find_map(|line| line.strip_prefix(used)?.trim().parse().ok());
        let used: u64 = used.ok_or_else(|| format!("{} does not say it", path.display()))?;
        put(&controller.group(id).join(limit), &(used * percent / 100).to_string())
    }

    /// Limits a member to this number of writes to a device in a second; `None` takes the limit away.
    pub(super) fn limit_writes(
        &self,
        id: u32,
        device: &str,
        per_second: Option<u32>,
    ) -> Result<(), String> {
        let controller = self.writes.as_ref().map_err(String::clone)?;
        let (file, line) = match (controller.version, per_second) {
            // There, 0 is no limit.
            (Version::One, limit) => {
                let limit = limit.unwrap_or(0);
                ("blkio.throttle.write_iops_device", format!("{device} {limit}"))
            }
            (Version::Two, Some(limit)) => ("io.max", format!("{device} wiops={limit}")),
            (Version::Two, None) => ("io.max", format!("{device} wiops=max")),
        };
        put(&controller.group(id).join(file), &line)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.controllers()
            .for_each(|controller| controller.remove(|run| run == std::process::id()));
    }
}

impl Controller {
    /// Finds a controller by its names in version 1 and in version 2.
    fn find(mounted: &Path, one: &str, two: &str) -> Result<Controller, String> {
        let root = mounted.join(one);
        if root.join("cgroup.procs").exists() {
            return Ok(Controller { root, version: Version::One });
        }
        for root in [mounted.to_owned(), mounted.join("unified")] {
            let there = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
            if there.split_whitespace().any(|name| name == two) {
                put(&root.join("cgroup.subtree_control"), &format!("+{two}"))?;
                return Ok(Controller { root, version: Version::Two });
            }
        }
        let at = mounted.display();
        Err(format!("no controller '{two}' of control groups at {at}; mount one"))
    }

    /// The group of a member.
    fn group(&self, id: u32) -> PathBuf {
        self.root.join(format!("{PREFIX}{}-{id}", std::process::id()))
    }

    /// Removes the groups of these runs.
    fn remove(&self, of_run: impl Fn(u32) -> bool) {
        for group in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if run_of(&group.file_name().to_string_lossy()).is_some_and(&of_run) {
                let _ = fs::remove_dir(group.path());
            }
        }
    }
}

/// The run that a group belongs to, by its name.
fn run_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn put(path: &Path, line: &str) -> Result<(), String> {
    fs::write(path, line).map_err(|error| unable("write", path, &error))
}

fn unable(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A directory with these files.
    fn mounted(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    /// Limits member 2, and gives what the files of its groups say then.
    fn limited(files: &[(&str, &str)], stat: &str, roots: [&str; 2]) -> [String; 3] {
        let folder = mounted(files);
        let groups = Groups::new(folder.path(), 3);
        let launcher = groups.launcher(2);
        let name = format!("{PREFIX}{}-2", std::process::id());
        let [memory, writes] = roots.map(|root| folder.path().join(root).join(&name));
        for group in [&memory, &writes] {
            let enter = format!("echo $$ > {}/cgroup.procs;", group.display());
            assert!(launcher[2].to_string_lossy().contains(&enter), "{launcher:?}");
        }
        fs::write(memory.join("memory.stat"), stat).unwrap();
        groups.limit_memory(2, 150).unwrap();
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let maximum = read(memory.join("memory.max")) + &read(memory.join("memory.limit_in_bytes"));
        let limit = |per_second| {
            groups.limit_writes(2, "7:3", per_second).unwrap();
            read(writes.join("io.max")) + &read(writes.join("blkio.throttle.write_iops_device"))
        };
        [maximum, limit(Some(20)), limit(None)]
    }

    #[test]
    fn version_one_has_a_tree_for_each_controller() {
        let files = [("memory/cgroup.procs", ""), ("blkio/cgroup.procs", "")];
        let said = limited(&files, "cache 7\nrss 1000\n", ["memory", "blkio"]);
        assert_eq!(said, ["1500", "7:3 20", "7:3 0"]);
    }

    #[test]
    fn version_two_has_one_tree_in_which_controllers_are_turned_on() {
        let files = [("cgroup.controllers", "cpu io memory pids\n")];
        let said = limited(&files, "file 7\nanon 1000\n", ["", ""]);
        assert_eq!(said, ["1500", "7:3 wiops=20", "7:3 wiops=max"]);
        let folder = mounted(&[("unified/cgroup.controllers", "io\n")]);
        let groups = Groups::new(folder.path(), 3);
        let on = fs::read_to_string(folder.path().join("unified/cgroup.subtree_control"));
        assert_eq!((on.unwrap().as_str(), groups.writes.is_ok()), ("+io", true));
        assert!(groups.memory.is_err());
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = mounted(&[("cgroup.controllers", "cpu memory\n")]);
        let why = Groups::new(folder.path(), 3).limit_writes(1, "7:0", Some(1)).unwrap_err();
        assert!(why.starts_with("no controller 'io' of control groups at "), "{why}");
        let why = Groups::new(Path::new("/nowhere"), 3).limit_memory(1, 1).unwrap_err();
        assert!(why.contains("'memory'"), "{why}");
    }

    #[test]
    fn groups_of_killed_runs_are_removed_and_of_live_ones_not() {
        let folder = mounted(&[("blkio/cgroup.procs", "")]);
        let [own, dead] =
            [1, u32::MAX].map(|run| folder.path().join(format!("blkio/{PREFIX}{run}-4")));
        for group in [&own, &dead] {
            fs::create_dir(group).unwrap();
        }
        let groups = Groups::new(folder.path(), 3);
        assert!(own.exists() && !dead.exists());
        let count = || fs::read_dir(folder.path().join("blkio")).unwrap().count();
        assert_eq!(count(), 5);
        drop(groups);
        assert_eq!(count(), 2);
    }
}
