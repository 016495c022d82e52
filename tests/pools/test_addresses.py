"""Base URLs: which are taken, and which address a credential is bound to."""

from __future__ import annotations

import pytest

from apps.pools.base_urls import authority, base_url_clean


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://API.example.com/v1", "api.example.com:443"),
        ("https://api.example.com:443/v1", "api.example.com:443"),
        ("http://api.example.com/v1", "api.example.com:80"),
        ("http://127.0.0.1:8001/v1", "127.0.0.1:8001"),
        ("http://[::1]:8001/v1", "::1:8001"),
    ],
)
def test_authority_always_has_a_port(base_url: str, expected: str):
    assert authority(base_url) == expected


def test_final_slashes_go():
    assert (
        base_url_clean("https://api.example.com/v1//") == "https://api.example.com/v1"
    )


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "api.example.com/v1",
        "ftp://api.example.com",
        "file:///etc/passwd",
        "https://",
        "https://user:word@api.example.com/v1",
        "https://user@api.example.com/v1",
        "https://api.example.com/v1?key=1",
        "https://api.example.com/v1#part",
        "https://api.example.com:port/v1",
        "https://api.example.com:99999/v1",
        "https://api.example.com:0/v1",
        f"https://{'a' * 254}/v1",
        "https://[::1/v1",
        "https://api.example.com /v1",
        "https://api.example.com/v1\n",
    ],
)
def test_bad_base_url_is_refused_without_quoting_it(base_url: str):
    with pytest.raises(ValueError, match="must") as caught:
        base_url_clean(base_url)
    assert not base_url or base_url not in str(caught.value)
