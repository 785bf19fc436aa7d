#!/usr/bin/env python3
"""Runs a program under valgrind's callgrind: under-valgrind.py OPTION... -- PROGRAM ARGUMENT...

rustix asks the kernel by prctl(PR_GET_AUXV) where the vdso is. Valgrind hides the vdso from its programs, but does
not know this way to ask, and the program crashes. So a seccomp filter refuses the question; rustix then reads
/proc/self/auxv, which valgrind does answer.
"""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SYS_PRCTL, PR_GET_AUXV = {"x86_64": 157, "aarch64": 167}[os.uname().machine], 0x41555856
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 22  # EINVAL
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16  # in struct seccomp_data

program = [
    (LOAD, 0, 0, NUMBER),
    (EQUAL, 0, 3, SYS_PRCTL),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (EQUAL, 0, 1, PR_GET_AUXV),
    (RETURN, 0, 0, REFUSE),
    (RETURN, 0, 0, ALLOW),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
done = libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
done = done and libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0) == 0
if not done:
    sys.exit(f"cannot filter system calls: {os.strerror(ctypes.get_errno())}; count on a machine with seccomp")
place = sys.argv.index("--")
options, command = sys.argv[1:place], sys.argv[place + 1 :]
os.execvp("valgrind", ["valgrind", "--tool=callgrind", "--quiet", *options, *command])
