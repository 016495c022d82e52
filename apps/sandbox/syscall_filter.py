"""Which system calls the code in a sandbox is refused. Standard library alone.

Namespaces and limits already keep it in. This takes away what would get around a
limit (memory that belongs to no process), what looks into other processes, and parts
of the kernel in which most of the holes of recent years were found.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT, FOURTH_ARGUMENT_AT = 0, 4, 16, 40
"""Offsets in what the filter sees of a call."""
NEW_NAMESPACES = 0x7E020080
"""Every flag of clone that makes a namespace."""
MAP_SHARED, MAP_ANONYMOUS = 0x01, 0x20
"""Memory of both kinds can outlive its use by every process that is measured."""
FAMILIES = (1, 2, 10)
"""Sockets that exist: AF_UNIX, AF_INET, AF_INET6; in an empty network all the same."""
OTHER_CALLS = 0x40000000
"""Numbers from here on are of a second table of x86_64."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NAMED = {  # name: number on x86_64, on aarch64
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "init_module": (175, 105),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "mount": (165, 40),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
ONLY_X86_64 = (133, 134, 154, 172, 173)
"""mknod, uselib, modify_ldt, iopl, ioperm."""
MKNODAT = (259, 33)
EVERYWHERE = (425, 426, 427, *range(428, 434), 438, 440, 442, 447)
"""io_uring, mounts by descriptor, pidfd_getfd, process_madvise, mount_setattr,
memfd_secret."""
OF_ITSELF = {  # name: number on x86_64, on aarch64
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
}
"""Calls whose first argument is a process: a program may name itself alone, by 0."""
CLONE, SOCKET, MMAP, CLONE3 = (56, 220), (41, 198), (9, 222), 435


def filter_program(machine: str, families: Sequence[int] = FAMILIES) -> bytes:
    """Return the filter for a kind of machine, with sockets of these families alone.

    Raises: ValueError if the machine is unknown.
    """
    column = list(ARCHITECTURES).index(machine)
    refused = [numbers[column] for numbers in NAMED.values()]
    refused += [MKNODAT[column], *EVERYWHERE]
    refused += ONLY_X86_64 if machine == "x86_64" else ()
    steps = [
        _load(ARCHITECTURE_AT),
        _step(JUMP_EQUAL, ARCHITECTURES[machine], 1, 0),
        _step(RETURN, KILL),
        _load(NUMBER_AT),
        _step(JUMP_AT_LEAST, OTHER_CALLS, 0, 1),
        _refuse(errno.ENOSYS),
        # Its flags are in memory, out of sight. The C library goes back to clone.
        *_if_equal(CLONE3, _refuse(errno.ENOSYS)),
        *_if_equal(
            CLONE[column],
            _load(FIRST_ARGUMENT_AT),
            _step(JUMP_ANY_BIT, NEW_NAMESPACES, 0, 1),
            _refuse(errno.EPERM),
            _step(RETURN, ALLOW),
        ),
        *_if_equal(
            MMAP[column],
            _load(FOURTH_ARGUMENT_AT),
            _step(JUMP_ANY_BIT, MAP_ANONYMOUS, 0, 2),
            _step(JUMP_ANY_BIT, MAP_SHARED, 0, 1),
            _refuse(errno.EPERM),
            _step(RETURN, ALLOW),
        ),
        *_if_equal(
            SOCKET[column],
            _load(FIRST_ARGUMENT_AT),
            *(
                step
                for family in families
                for step in _if_equal(family, _step(RETURN, ALLOW))
            ),
            _refuse(errno.EAFNOSUPPORT),
        ),
    ]
    for numbers in OF_ITSELF.values():
        steps += _if_equal(
            numbers[column],
            _load(FIRST_ARGUMENT_AT),
            *_if_equal(0, _step(RETURN, ALLOW)),
            _refuse(errno.EPERM),
        )
    for number in refused:
        steps += _if_equal(number, _refuse(errno.EPERM))
    steps.append(_step(RETURN, ALLOW))
    return b"".join(steps)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _step(LOAD, offset)


def _refuse(number: int) -> bytes:
    return _step(RETURN, REFUSE | number)


def _if_equal(value: int, *then: bytes) -> tuple[bytes, ...]:
    return (_step(JUMP_EQUAL, value, 0, len(then)), *then)
