"""The filter of system calls, followed step by step for both kinds of machines."""

from __future__ import annotations

import errno
import struct

import pytest

from apps.sandbox.syscall_filter import (
    ALLOW,
    ARCHITECTURES,
    JUMP_ANY_BIT,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    KILL,
    LOAD,
    REFUSE,
    RETURN,
    filter_program,
)

NUMBERS = {  # read, mount, clone, socket, mmap
    "x86_64": (0, 165, 56, 41, 9),
    "aarch64": (63, 40, 220, 198, 222),
}


def verdict(machine: str, number: int, *arguments: int, of: str = "") -> int:
    """Return what the kernel would make of a call, as its filter says."""
    given = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    call = struct.pack("=IIQ6Q", number, ARCHITECTURES[of or machine], 0, *given)
    steps = list(struct.iter_unpack("=HBBI", filter_program(machine)))
    place = held = 0
    while True:
        code, if_true, if_false, value = steps[place]
        if code == RETURN:
            return int(value)
        if code == LOAD:
            (held,) = struct.unpack_from("=I", call, value)
            place += 1
            continue
        is_true = {
            JUMP_EQUAL: held == value,
            JUMP_AT_LEAST: held >= value,
            JUMP_ANY_BIT: bool(held & value),
        }[code]
        place += 1 + (if_true if is_true else if_false)


@pytest.mark.parametrize("machine", NUMBERS)
def test_limits_are_those_of_the_program_itself(machine):
    prlimit = {"x86_64": 302, "aarch64": 261}[machine]
    assert verdict(machine, prlimit, 0, 7) == ALLOW
    for process in (1, 2, 70_000):
        assert verdict(machine, prlimit, process, 7) == REFUSE | errno.EPERM


@pytest.mark.parametrize("machine", NUMBERS)
def test_what_is_refused(machine):
    read, mount, clone, socket, mmap = NUMBERS[machine]
    forbidden = REFUSE | errno.EPERM
    assert verdict(machine, read) == ALLOW
    assert verdict(machine, mount) == forbidden
    assert verdict(machine, clone, 0x01200011) == ALLOW  # fork
    assert verdict(machine, clone, 0x3D0F00) == ALLOW  # a thread
    assert verdict(machine, clone, 0x10000011) == forbidden
    assert verdict(machine, 435) == REFUSE | errno.ENOSYS  # clone3
    assert [verdict(machine, socket, family) for family in (1, 2, 10)] == [ALLOW] * 3
    assert verdict(machine, socket, 40) == REFUSE | errno.EAFNOSUPPORT
    assert verdict(machine, mmap, 0, 4096, 3, 0x22) == ALLOW  # private
    assert verdict(machine, mmap, 0, 4096, 3, 0x01) == ALLOW  # of a file
    assert verdict(machine, mmap, 0, 4096, 3, 0x21) == forbidden


def test_calls_of_another_kind_of_machine_end_the_process():
    assert verdict("x86_64", 0, of="aarch64") == KILL
    assert verdict("x86_64", 0x40000000) == REFUSE | errno.ENOSYS


def test_other_machines_have_no_filter():
    with pytest.raises(ValueError):
        filter_program("riscv64")
