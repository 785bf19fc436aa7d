//! A TAP device: a network interface whose other end is a file of this process.

use std::fs::File;
use std::io;

/// The device that makes them.
const CLONE: &str = "/dev/net/tun";
/// Frames with Ethernet headers, and nothing before them.
const FLAGS: u16 = 0x0002 | 0x1000;
/// `_IOW('T', 202, int)`.
const TUNSETIFF: rustix::ioctl::Opcode = 0x4004_54ca;
const NAME_MAX: usize = 15;

/// `struct ifreq`: a name, flags, and room for what else it can carry.
#[repr(C)]
struct Request {
    name: [u8; NAME_MAX + 1],
    flags: u16,
    rest: [u8; 22],
}

/// Makes an interface of this name in the network namespace of this process. It can be moved to
/// another one, and goes when the file is closed.
#[allow(unsafe_code)]
pub(super) fn open(name: &str) -> io::Result<File> {
    let file = File::options().read(true).write(true).open(CLONE)?;
    let mut request = Request { name: [0; NAME_MAX + 1], flags: FLAGS, rest: [0; 22] };
    let length = name.len().min(NAME_MAX);
    request.name[..length].copy_from_slice(&name.as_bytes()[..length]);
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which is what it gets, and keeps no
    // pointer to it. There is no safe way to ask for a TAP device.
    unsafe { rustix::ioctl::ioctl(&file, rustix::ioctl::Setter::<TUNSETIFF, _>::new(request)) }?;
    Ok(file)
}
