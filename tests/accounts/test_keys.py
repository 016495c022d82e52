"""The shape of an API key: pure functions, no database."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts import keys
from apps.accounts.keys import ALPHABET, key_digest, key_generate, key_parse
from apps.core.hmacs import HmacSha256

ONE, TWO = HmacSha256(b"one"), HmacSha256(b"two")
SAMPLE = "cdk_" + "aZ09bY18" + "c" * 28


def test_generated_key_parses_to_itself():
    key = key_generate()
    assert key_parse(key.secret) == key


def test_generated_keys_differ():
    assert len({key_generate().secret for _ in range(100)}) == 100


def test_secret_part_has_160_bits():
    assert len(ALPHABET) ** keys.SECRET_LENGTH > 2**160


def test_checksum_is_crc32_in_base62():
    # The check value every description of CRC-32 gives for these nine digits.
    number = 0
    for digit in keys.key_checksum("123456789"):
        number = number * 62 + ALPHABET.index(digit)
    assert number == 0xCBF43926


def test_every_change_of_one_character_is_caught():
    whole = SAMPLE + keys.key_checksum(SAMPLE)
    survivors = [
        (index, character)
        for index in range(len(whole))
        for character in ALPHABET + "_- é"
        if character != whole[index]
        and key_parse(whole[:index] + character + whole[index + 1 :]) is not None
    ]
    assert survivors == []


@given(st.text(max_size=60))
def test_arbitrary_text_is_no_key(text: str):
    assert key_parse(text) is None


@given(st.text(alphabet=ALPHABET, min_size=42, max_size=42))
def test_key_shaped_text_parses_only_with_its_checksum(tail: str):
    body = "cdk_" + tail[:36]
    is_right = tail[36:] == keys.key_checksum(body)
    assert (key_parse("cdk_" + tail) is not None) == is_right


@pytest.mark.parametrize("spoil", [" {}", "{} ", "{}\n", "{}x", "CDK_{}"])
def test_key_with_anything_around_it_is_refused(spoil: str):
    assert key_parse(spoil.format(key_generate().secret)) is None


def test_digest_depends_on_the_pepper():
    assert key_digest("k", pepper=ONE) != key_digest("k", pepper=TWO)


def test_digest_takes_any_text():
    assert len(key_digest("\ud800 é", pepper=ONE)) == 64


def test_repr_of_a_parsed_key_hides_it():
    key = key_generate()
    assert key.secret not in repr(key)
