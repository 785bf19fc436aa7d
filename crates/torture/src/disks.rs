//! The members' disks, and how they become full, slow and read-only.
//!
//! A disk is a file system in memory, so what the disk of this machine is like plays no part. It is ext4
//! on a loop device, because the kernel limits the rate of writes on block devices only. Where that
//! cannot be made it is a tmpfs, and no disk is slow.

use super::groups::Groups;
use bellwether_shell::Failure;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The size of a disk, and of the piece by which it is filled.
const MIB: u64 = 64;
const PIECE: usize = 1 << 20;
/// The file that fills it.
const FILLER: &str = "filler";

/// The disks of all members. They are unmounted when this is dropped.
pub(super) struct Disks {
    folder: PathBuf,
    members: u32,
    /// The device of each disk, or why none can be slow.
    devices: Result<Vec<String>, String>,
    /// Members whose disk is full or read-only, and how often each has ended because of that.
    bad: BTreeMap<u32, u64>,
}

impl Disks {
    /// Mounts a disk for each member in this folder.
    pub(super) fn mount(folder: &Path, members: u32, groups: &Groups) -> Result<Disks, Failure> {
        let mut disks = Disks::none(folder);
        disks.members = members;
        disks.devices = disks.mount_loops(groups);
        if disks.devices.is_err() {
            disks.unmount();
            for id in 1..=members {
                let size = format!("size={MIB}m");
                mount(&["-t", "tmpfs", "-o", &size, "none"], &disks.of(id)).map_err(|why| {
                    Failure::Input(format!("--namespaces: cannot make a disk: {why}"))
                })?;
            }
        }
        Ok(disks)
    }

    /// Makes and mounts ext4 on loop devices, whose numbers it gives.
    fn mount_loops(&self, groups: &Groups) -> Result<Vec<String>, String> {
        let images = self.folder.join("images");
        mount(&["-t", "tmpfs", "-o", "size=100%", "none"], &images)?;
        let made: Result<Vec<String>, String> = (1..=self.members)
            .map(|id| {
                let image = images.join(id.to_string());
                let text = image.display().to_string();
                let file = fs::File::create(&image).and_then(|file| file.set_len(MIB << 20));
                file.map_err(|error| format!("cannot make {text}: {error}"))?;
                let words = ["-q", "-F", "-b", "4096", "-m", "0", &text];
                run("mkfs.ext4", &words, "install e2fsprogs")?;
                mount(&["-t", "ext4", "-o", "loop", &text], &self.of(id))?;
                let device = device(&self.of(id))?;
                // Whether it can be limited shows now and not when it is to be.
                groups.limit_writes(id, &device, None)?;
                Ok(device)
            })
            .collect();
        // The devices keep it until they are gone.
        unmount(&images);
        made
    }

    /// No disks: the members' directories are in this folder.
    pub(super) fn none(folder: &Path) -> Disks {
        let devices = Err("there are no disks".to_owned());
        Disks { folder: folder.to_owned(), members: 0, devices, bad: BTreeMap::new() }
    }

    /// The directory for the data of a member.
    pub(super) fn of(&self, id: u32) -> PathBuf {
        self.folder.join(format!("data-{id}"))
    }

    /// Why no disk can be slow, if so.
    pub(super) fn never_slow(&self) -> Option<&str> {
        self.devices.as_ref().err().map(String::as_str)
    }

    /// Limits the disk of a member to this number of writes in a second, or takes the limit away.
    pub(super) fn limit(
        &self,
        id: u32,
        per_second: Option<u32>,
        groups: &Groups,
    ) -> Result<(), String> {
        let devices = self.devices.as_ref().map_err(String::clone)?;
        let device = devices.get(id as usize - 1).ok_or("there is no such disk")?;
        groups.limit_writes(id, device, per_second)
    }

    /// Fills the disk of a member. Gives what is to be called again and again to keep it full: a member
    /// removes files that it no longer needs.
    pub(super) fn fill(&mut self, id: u32) -> impl Fn() + use<> {
        self.bad.insert(id, 0);
        let path = self.of(id).join(FILLER);
        let fill = move || fill(&path);
        fill();
        fill
    }

    /// Makes the disk of a member read-only, which must not run.
    pub(super) fn make_read_only(&mut self, id: u32) -> Result<(), String> {
        mount(&["-o", "remount,ro"], &self.of(id))?;
        self.bad.insert(id, 0);
        Ok(())
    }

    /// A member has ended with this code: whether its disk is the reason.
    pub(super) fn ended(&mut self, id: u32, code: Option<i32>) -> bool {
        match self.bad.get_mut(&id) {
            Some(ended) if code.is_some_and(|code| BAD_DISK.contains(&code)) => {
                *ended += 1;
                true
            }
            Some(_) | None => false,
        }
    }

    /// How often a member has ended because of its disk.
    pub(super) fn ends(&self, id: u32) -> u64 {
        self.bad.get(&id).copied().unwrap_or_default()
    }

    /// Makes the disk of a member good again.
    pub(super) fn make_good(&mut self, id: u32) -> Result<(), Failure> {
        if self.bad.remove(&id).is_some() {
            mount(&["-o", "remount,rw"], &self.of(id)).map_err(Failure::Input)?;
            let _ = fs::remove_file(self.of(id).join(FILLER));
        }
        Ok(())
    }

    /// Makes all of them good.
    pub(super) fn make_all_good(&mut self) -> Result<(), Failure> {
        let bad: Vec<u32> = self.bad.keys().copied().collect();
        bad.into_iter().try_for_each(|id| self.make_good(id))
    }

    /// Deletes all that a member has on its disk.
    pub(super) fn empty(&self, id: u32) {
        for entry in fs::read_dir(self.of(id)).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }

    fn unmount(&self) {
        (1..=self.members).for_each(|id| unmount(&self.of(id)));
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// What a member ends with if it cannot start or go on because of its disk.
const BAD_DISK: [i32; 2] = [3, 4];

fn fill(path: &Path) {
    let filler = fs::File::options().create(true).append(true).open(path);
    // As an array it would be a megabyte of the program.
    let zeros = vec![0; PIECE];
    while filler.as_ref().is_ok_and(|mut file| file.write_all(&zeros).is_ok()) {}
}

/// The number of the device that is mounted here.
fn device(at: &Path) -> Result<String, String> {
    let number = fs::metadata(at).map_err(|error| format!("{}: {error}", at.display()))?.dev();
    Ok(format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number)))
}

fn mount(words: &[&str], at: &Path) -> Result<(), String> {
    let place = at.display().to_string();
    fs::create_dir_all(at).map_err(|error| format!("cannot make {place}: {error}"))?;
    run("mount", &[words, &[place.as_str()]].concat(), "install mount (util-linux)")
}

fn unmount(at: &Path) {
    let _ = Command::new("umount").arg("-l").arg(at).output();
}

/// Runs a program; `else_do` is for where it is missing.
fn run(program: &str, words: &[&str], else_do: &str) -> Result<(), String> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("cannot run '{program}': {error}; {else_do}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("'{program} {}' fails: {}", words.join(" "), said.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bad_disk_excuses_an_end_and_only_with_its_codes() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut disks = Disks::none(folder.path());
        assert!(!disks.ended(2, Some(4)), "its disk is good");
        disks.bad.insert(2, 0);
        for (code, excused) in [(Some(4), true), (Some(3), true), (Some(101), false), (None, false)]
        {
            assert_eq!(disks.ended(2, code), excused, "{code:?}");
        }
        assert!(!disks.ended(1, Some(4)), "another member");
        assert_eq!((disks.ends(1), disks.ends(2)), (0, 2));
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let why = run("no-such-program", &[], "install it").unwrap_err();
        assert!(why.contains("'no-such-program'") && why.ends_with("; install it"), "{why}");
        let why = run("ls", &["/no/such/file"], "").unwrap_err();
        assert!(why.starts_with("'ls /no/such/file' fails: "), "{why}");
        assert!(Disks::none(Path::new(".")).never_slow().is_some());
    }
}
