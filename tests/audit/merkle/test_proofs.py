"""The tree, and its proofs, are those of RFC 6962."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.audit.merkle.hashing import (
    EMPTY_ROOT,
    CompactRange,
    leaf_hash,
    perfect_root,
)
from apps.audit.merkle.proofs import (
    consistency_proof,
    inclusion_proof,
    is_consistent,
    is_included,
)
from tests.audit.merkle import naive

LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""Leaves and roots of the trees of 1 to 8 of them, as the tests of the reference
implementation have them: github.com/google/certificate-transparency,
cpp/merkletree/merkle_tree_test.cc; and github.com/transparency-dev/merkle."""
SIZES = st.integers(1, 70)


def range_over(data: list[bytes]) -> CompactRange:
    tree = CompactRange()
    for each in data:
        tree.append(leaf_hash(each))
    return tree


def data_of(size: int) -> list[bytes]:
    return [bytes([n]) for n in range(size)]


def test_roots_are_those_of_the_reference_implementation():
    roots = [range_over(LEAVES[: n + 1]).root().hex() for n in range(8)]
    assert roots == ROOTS
    assert CompactRange().root() == EMPTY_ROOT
    assert EMPTY_ROOT.hex().startswith("e3b0c44298fc1c149afbf4c8996fb924")


def test_perfect_root_is_the_root():
    assert perfect_root([leaf_hash(leaf) for leaf in LEAVES]).hex() == ROOTS[-1]


@given(SIZES)
def test_root_is_that_of_the_definition(size):
    tree = range_over(data_of(size))
    assert tree.root() == naive.root(data_of(size))
    assert tree.size == size


@given(SIZES, st.data())
def test_inclusion_proof_is_that_of_the_definition_and_holds(size, data):
    leaves = data_of(size)
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(index, size, lambda b, e: naive.root(leaves[b:e]))
    assert proof == naive.path(index, leaves)
    leaf, root = leaf_hash(leaves[index]), naive.root(leaves)
    assert is_included(leaf, index, size, root, proof)


@given(SIZES, st.data())
def test_inclusion_proof_holds_for_nothing_else(size, data):
    leaves = data_of(size)
    index = data.draw(st.integers(0, size - 1))
    other = data.draw(st.integers(-2, size + 2).filter(lambda n: n != index))
    proof, root = naive.path(index, leaves), naive.root(leaves)
    leaf = leaf_hash(leaves[index])
    assert not is_included(leaf, other, size, root, proof)
    assert not is_included(leaf_hash(b"other"), index, size, root, proof)
    assert not is_included(leaf, index, size, root, [*proof, bytes(32)])
    assert not is_included(leaf, index, size, bytes(32), proof)
    for place in range(len(proof)):
        changed = [*proof[:place], bytes(32), *proof[place + 1 :]]
        assert not is_included(leaf, index, size, root, changed)
        shorter = [*proof[:place], *proof[place + 1 :]]
        assert not is_included(leaf, index, size, root, shorter)


@given(SIZES, st.data())
def test_consistency_proof_is_that_of_the_definition_and_holds(size, data):
    leaves = data_of(size)
    old = data.draw(st.integers(1, size))
    proof = consistency_proof(old, size, lambda b, e: naive.root(leaves[b:e]))
    assert proof == naive.subproof(old, leaves, True)
    roots = naive.root(leaves[:old]), naive.root(leaves)
    assert is_consistent(old, size, *roots, proof)


@given(SIZES, st.data())
def test_consistency_proof_holds_for_nothing_else(size, data):
    leaves = data_of(size)
    old = data.draw(st.integers(1, size))
    proof = naive.subproof(old, leaves, True)
    roots = naive.root(leaves[:old]), naive.root(leaves)
    assert not is_consistent(old, size, bytes(32), roots[1], proof)
    assert not is_consistent(old, size, roots[0], bytes(32), proof)
    assert not is_consistent(old, size, *roots, [*proof, bytes(32)])
    assert not is_consistent(old, old - 1, *roots, proof)
    for place in range(len(proof)):
        changed = [*proof[:place], bytes(32), *proof[place + 1 :]]
        assert not is_consistent(old, size, *roots, changed)
        shorter = [*proof[:place], *proof[place + 1 :]]
        assert not is_consistent(old, size, *roots, shorter)


@pytest.mark.parametrize(("index", "size"), [(0, 0), (-1, 3), (3, 3)])
def test_no_inclusion_proof_of_what_is_not_there(index, size):
    with pytest.raises(ValueError, match="has none at"):
        inclusion_proof(index, size, lambda _b, _e: b"")


@pytest.mark.parametrize(("old", "new"), [(0, 3), (4, 3)])
def test_no_consistency_proof_of_what_cannot_be(old, new):
    with pytest.raises(ValueError, match="cannot begin with"):
        consistency_proof(old, new, lambda _b, _e: b"")
