"""Encryption at rest: bound to its place, rotated without loss."""

import base64

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.core.errors import SecretUnreadable
from apps.core.keyring import seal, unseal

OLD = "old:" + base64.b64encode(b"o" * 32).decode()
NEW = "new:" + base64.b64encode(b"n" * 32).decode()


def test_what_was_sealed_opens_in_its_place():
    assert unseal(seal(b"secret", context=b"here"), context=b"here") == b"secret"


def test_moved_elsewhere_it_does_not_open():
    with pytest.raises(SecretUnreadable):
        unseal(seal(b"secret", context=b"here"), context=b"there")


def test_a_changed_byte_does_not_open():
    sealed = bytearray(seal(b"secret", context=b"here"))
    sealed[-1] ^= 1
    with pytest.raises(SecretUnreadable):
        unseal(bytes(sealed), context=b"here")


@pytest.mark.parametrize("length", [0, 1, 3, 8, 20])
def test_a_cut_off_value_does_not_open(length):
    with pytest.raises(SecretUnreadable):
        unseal(seal(b"secret", context=b"here")[:length], context=b"here")


def test_a_rotated_key_still_opens_what_it_sealed(settings):
    settings.ENCRYPTION_KEYS = [OLD]
    sealed = seal(b"secret", context=b"here")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert unseal(sealed, context=b"here") == b"secret"


def test_a_key_that_is_gone_is_named(settings):
    settings.ENCRYPTION_KEYS = [OLD]
    sealed = seal(b"secret", context=b"here")
    settings.ENCRYPTION_KEYS = [NEW]
    with pytest.raises(SecretUnreadable, match="'old'"):
        unseal(sealed, context=b"here")


@pytest.mark.parametrize("spec", ["short:aGk=", "no-colon", ":" + "A" * 44, "a:!!!"])
def test_an_unusable_key_is_refused(settings, spec):
    settings.ENCRYPTION_KEYS = [spec]
    with pytest.raises(ImproperlyConfigured):
        seal(b"secret", context=b"here")
