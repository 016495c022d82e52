"""Postings: which runs of a block have a word, packed for one row of the index. Pure.

A run stands for itself by its offset: its number less the first number of the block.

row:   n (4 bytes) ‖ codes (n × 8, ascending) ‖ counts (n × 2) ‖ n lists, in that order
list:  the offsets, ascending, 2 bytes each; of more than MAX_LISTED instead a bitmap of
       BITMAP_BYTES, in which bit k stands for offset k

All numbers are little-endian and without a sign.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from struct import Struct, pack, unpack_from
from typing import NamedTuple

MAX_OFFSETS = 1 << 15
"""Runs of the largest block."""
BITMAP_BYTES = MAX_OFFSETS // 8
MAX_LISTED = BITMAP_BYTES // 2
"""From here on a bitmap is shorter than a list."""
PREFIX_BITS = 32
"""Bits of a code that an indexed run keeps of each of its words."""
CODE_BITS = 64
_COUNT = Struct("<I")
_CODE_BYTES, _COUNT_BYTES = 8, 2
_BITS = [[bit for bit in range(8) if byte >> bit & 1] for byte in range(256)]
"""By the value of a byte, which of its bits are set."""


class _Row(NamedTuple):
    codes: tuple[int, ...]
    counts: tuple[int, ...]
    begin: int
    """Where the lists begin."""

    def list_begins(self) -> list[int]:
        """Return where each list begins, and where the last one ends."""
        return list(accumulate(map(_list_bytes, self.counts), initial=self.begin))


def postings_packed(words: Mapping[int, Sequence[int]]) -> bytes:
    """Return a row: offsets by code; the offsets of each code ascend."""
    return _joined(
        [(code, len(words[code]), _packed_list(words[code])) for code in sorted(words)]
    )


def postings_unpacked(data: bytes) -> dict[int, list[int]]:
    """Return the offsets of a row by code."""
    row = _row(data)
    begins = row.list_begins()
    return {
        code: _offsets(data, count, begin)
        for code, count, begin in zip(row.codes, row.counts, begins, strict=False)
    }


def postings_merged(rows: Iterable[tuple[int, bytes]]) -> dict[int, list[int]]:
    """Return the postings of several rows in one block.

    Each comes with what is to be added to its offsets, in ascending order.
    """
    merged: dict[int, list[int]] = {}
    for base, data in rows:
        for code, offsets in postings_unpacked(data).items():
            moved = [base + offset for offset in offsets] if base else offsets
            if code in merged:
                merged[code] += moved
            else:
                merged[code] = moved
    return merged


def postings_between(data: bytes, first: int, last: int) -> dict[int, list[int]]:
    """Return the part of a row with codes from `first` to before `last`."""
    row = _row(data)
    start, end = bisect_left(row.codes, first), bisect_left(row.codes, last)
    begins = row.list_begins()
    return {
        row.codes[i]: _offsets(data, row.counts[i], begins[i])
        for i in range(start, end)
    }


def bitmap_of(data: bytes, codes: Collection[int]) -> int:
    """Return which runs of a row have a word with one of these codes, as a bitmap."""
    row = _row(data)
    found = 0
    for code in codes:
        i = bisect_left(row.codes, code)
        if i == len(row.codes) or row.codes[i] != code:
            continue
        begin = row.begin + sum(map(_list_bytes, row.counts[:i]))
        found |= int.from_bytes(_bitmap(data, row.counts[i], begin), "little")
    return found


def offsets_in(bitmap: int) -> list[int]:
    """Return the offsets in a bitmap, ascending."""
    data = bitmap.to_bytes(BITMAP_BYTES, "little")
    return [
        8 * place + bit
        for place, byte in enumerate(data)
        if byte
        for bit in _BITS[byte]
    ]


def postings_without(data: bytes, erased: Mapping[int, Collection[int]]) -> bytes:
    """Return a row without some postings; empty if it then has none.

    `erased`: prefixes of codes, by the offset of the run to be taken out of them.
    """
    if not data:
        return data
    row = _row(data)
    gone: dict[int, set[int]] = {}
    for offset, prefixes in erased.items():
        for prefix in prefixes:
            start = bisect_left(row.codes, prefix << PREFIX_BITS)
            end = bisect_left(row.codes, (prefix + 1) << PREFIX_BITS)
            for i in range(start, end):
                gone.setdefault(i, set()).add(offset)
    begins = row.list_begins()
    lists = [
        (code, count, data[begins[i] : begins[i + 1]])
        if i not in gone
        else (code, *_list_without(data, count, begins[i], gone[i]))
        for i, (code, count) in enumerate(zip(row.codes, row.counts, strict=True))
    ]
    return _joined([each for each in lists if each[1]])


def _list_without(
    data: bytes, count: int, begin: int, gone: Collection[int]
) -> tuple[int, bytes]:
    """Return a list without some offsets, and how many it then has."""
    if count <= MAX_LISTED:
        left = [each for each in _offsets(data, count, begin) if each not in gone]
        return len(left), _packed_list(left)
    bits = bytearray(data[begin : begin + BITMAP_BYTES])
    for offset in gone:
        bit = 1 << (offset & 7)
        count -= bool(bits[offset >> 3] & bit)
        bits[offset >> 3] &= ~bit
    if count > MAX_LISTED:
        return count, bytes(bits)
    return count, _packed_list(offsets_in(int.from_bytes(bits, "little")))


def _joined(lists: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Return a row of codes with how many offsets each has, and its list."""
    if not lists:
        return b""
    codes, counts, packed = zip(*lists, strict=True)
    return b"".join(
        (
            _COUNT.pack(len(lists)),
            pack(f"<{len(lists)}Q", *codes),
            pack(f"<{len(lists)}H", *counts),
            *packed,
        )
    )


def _row(data: bytes) -> _Row:
    (count,) = _COUNT.unpack_from(data)
    counts_begin = _COUNT.size + count * _CODE_BYTES
    return _Row(
        unpack_from(f"<{count}Q", data, _COUNT.size),
        unpack_from(f"<{count}H", data, counts_begin),
        counts_begin + count * _COUNT_BYTES,
    )


def _list_bytes(count: int) -> int:
    return 2 * count if count <= MAX_LISTED else BITMAP_BYTES


def _packed_list(offsets: Sequence[int]) -> bytes:
    if len(offsets) <= MAX_LISTED:
        return pack(f"<{len(offsets)}H", *offsets)
    return bytes(_set_bits(offsets))


def _offsets(data: bytes, count: int, begin: int) -> list[int]:
    if count <= MAX_LISTED:
        return list(unpack_from(f"<{count}H", data, begin))
    return offsets_in(int.from_bytes(data[begin : begin + BITMAP_BYTES], "little"))


def _bitmap(data: bytes, count: int, begin: int) -> bytes | bytearray:
    if count <= MAX_LISTED:
        return _set_bits(unpack_from(f"<{count}H", data, begin))
    return data[begin : begin + BITMAP_BYTES]


def _set_bits(offsets: Iterable[int]) -> bytearray:
    bits = bytearray(BITMAP_BYTES)
    for offset in offsets:
        bits[offset >> 3] |= 1 << (offset & 7)
    return bits
