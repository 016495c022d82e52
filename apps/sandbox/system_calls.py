"""The calls of Linux that Python has no functions for. Standard library alone.

Every function raises OSError with the name of what failed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal

MACHINE = platform.machine()
NUMBERS = {
    "x86_64": {"clone": 56, "pivot_root": 155, "capset": 126},
    "aarch64": {"clone": 220, "pivot_root": 41, "capset": 91},
}
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""The same numbers on every machine."""

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
NAMESPACES = (
    CLONE_NEWNS
    | CLONE_NEWCGROUP
    | CLONE_NEWUTS
    | CLONE_NEWIPC
    | CLONE_NEWUSER
    | CLONE_NEWPID
    | CLONE_NEWNET
)

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE, AT_EMPTY_PATH = -100, 0x8000, 0x1000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH = 4
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
HIGHEST_CAPABILITY = 63
CAPABILITY_VERSION = 0x20080522

# PyDLL keeps the interpreter's lock, so that a copy of the process has it too.
_libc = ctypes.PyDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _call(number: int, *arguments: object, what: str) -> int:
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), what)


def clone_process(flags: int) -> int:
    """Copy this process into new namespaces; return 0 in the copy, like fork.

    Only for a process with a single thread.
    """
    zero = ctypes.c_long(0)
    number = NUMBERS[MACHINE]["clone"]
    all_flags = ctypes.c_ulong(flags | signal.SIGCHLD)
    return _call(number, all_flags, zero, zero, zero, zero, what="clone")


def control(option: int, *values: int) -> None:
    """Change a property of this process (prctl)."""
    given = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _checked(_libc.prctl(ctypes.c_int(option), *given), f"prctl {option}")


def mount(kind: str, target: str, flags: int, options: str = "") -> None:
    """Mount a file system of this kind, or change one (kind `none`)."""
    given = options.encode() or None
    result = _libc.mount(
        kind.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), given
    )
    _checked(result, f"mount {kind} at {target}")


def detach(target: str) -> None:
    """Remove a mount, and all below it."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def tree_copy(path: str) -> int:
    """Return a descriptor of a copy of the mounts at `path`, attached nowhere yet."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    return _call(
        OPEN_TREE,
        ctypes.c_int(AT_FDCWD),
        ctypes.c_char_p(path.encode()),
        ctypes.c_uint(flags),
        what=f"open_tree {path}",
    )


def tree_attach(tree: int, target: str) -> None:
    """Attach what `tree_copy` returned."""
    _call(
        MOVE_MOUNT,
        ctypes.c_int(tree),
        ctypes.c_char_p(b""),
        ctypes.c_int(AT_FDCWD),
        ctypes.c_char_p(target.encode()),
        ctypes.c_uint(MOVE_MOUNT_F_EMPTY_PATH),
        what=f"move_mount {target}",
    )


class MountAttributes(ctypes.Structure):
    """What `mount_setattr` sets and clears."""

    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def tree_restrict(tree: int, attributes: int) -> None:
    """Set attributes on all mounts of what `tree_copy` returned."""
    _mount_setattr(tree, b"", AT_EMPTY_PATH | AT_RECURSIVE, attributes)


def mount_restrict(path: str, attributes: int) -> None:
    """Set attributes on the one mount at `path`."""
    _mount_setattr(AT_FDCWD, path.encode(), 0, attributes)


def _mount_setattr(folder: int, path: bytes, flags: int, attributes: int) -> None:
    values = MountAttributes(attributes, 0, 0, 0)
    _call(
        MOUNT_SETATTR,
        ctypes.c_int(folder),
        ctypes.c_char_p(path),
        ctypes.c_uint(flags),
        ctypes.byref(values),
        ctypes.c_size_t(ctypes.sizeof(values)),
        what="mount_setattr",
    )


def root_change(folder: str) -> None:
    """Make `folder`, a mount, the root, and remove the former root."""
    os.chdir(folder)
    here = ctypes.c_char_p(b".")
    # Both at the same place: the former root then lies over the new one.
    _call(NUMBERS[MACHINE]["pivot_root"], here, here, what="pivot_root")
    detach(".")
    os.chdir("/")


def capabilities_drop() -> None:
    """Give up every capability, for good."""
    for capability in range(HIGHEST_CAPABILITY + 1):
        try:
            control(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # the kernel knows no higher one
    control(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    none = (ctypes.c_uint32 * 6)()
    number = NUMBERS[MACHINE]["capset"]
    _call(number, ctypes.byref(header), ctypes.byref(none), what="capset")


def filter_install(program: bytes) -> None:
    """Let this process and its children make only the calls that a filter lets through.

    `program`: instructions of 8 bytes for the kernel's socket filter.
    """

    class FilterProgram(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    held = ctypes.create_string_buffer(program, len(program))
    address = ctypes.addressof(held)
    whole = FilterProgram(len(program) // 8, address)
    control(PR_SET_NO_NEW_PRIVS, 1)
    control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(whole))
