"""No model endpoint is at an address the operator does not allow."""

from __future__ import annotations

import pytest

from apps.llm.address_policy import AddressPolicy, ForbiddenAddress

FORBIDDEN = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:7f00:1::80ff:fffe",
    "64:ff9b:1::7f00:1",
    "::7f00:1",
    "fd00:ec2::254",
    "fec0::1",
    "192.0.0.192",
    "192.88.99.1",
    "168.63.129.16",
    "3fff::1",
]


@pytest.mark.parametrize("port", [22, 25, 5432, 6379, 27017])
def test_allowed_network_does_not_open_the_ports_of_other_services(port: int):
    """T15: unless they are listed."""
    assert not AddressPolicy(["10.0.0.0/8"]).allows("10.1.2.3", port)
    assert AddressPolicy(["10.0.0.0/8"]).allows("10.1.2.3", 8000)
    assert AddressPolicy(["10.0.0.0/8"], [port]).allows("10.1.2.3", port)


@pytest.mark.parametrize("address", FORBIDDEN)
def test_address_inside_is_forbidden(address: str):
    assert not AddressPolicy().allows(address, 443)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_address_is_allowed(address: str):
    assert AddressPolicy().allows(address, 443)


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3"])
def test_listed_network_is_allowed(address: str):
    assert AddressPolicy(["10.1.0.0/16"]).allows(address, 443)


def test_neighbour_of_a_listed_network_is_forbidden():
    assert not AddressPolicy(["10.1.0.0/16"]).allows("10.2.0.1", 443)


def test_text_that_is_no_network_is_refused():
    with pytest.raises(ValueError, match="network"):
        AddressPolicy(["10.1.0.0/99"])


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/v1",
        "http://127.1/v1",
        "http://0x7f000001/v1",
        "http://2130706433/v1",
        "http://0177.0.0.1/v1",
        "http://[::1]:8000/v1",
        "http://[::ffff:10.0.0.1]/v1",
        "ftp://example.com/v1",
        "file:///etc/passwd",
        "example.com/v1",
        "https:///v1",
        "https://user:word@example.com/v1",
        "https://example.com/v1?key=1",
        "https://example.com/v1#x",
        "https://example.com:99999/v1",
        "https://[::1/v1",
        "http://localhost/v1",
        "http://models.localhost./v1",
        "http://127.0.0.1./v1",
        "http://[64:ff9b::a9fe:a9fe]/latest",
        "http://169.254.169.254/latest",
        "http://%31%32%37.0.0.1/v1",
        "http://①②⑦.⓪.⓪.①/v1",
        "http://bücher.example/v1",
        "//example.com/v1",
    ],
)
def test_url_that_can_never_be_right_is_refused(url: str):
    with pytest.raises(ForbiddenAddress):
        AddressPolicy().check_url(url)


@pytest.mark.parametrize(
    "url", ["https://example.com/v1", "http://8.8.8.8:8000/v1", "http://10.0.0.5/v1"]
)
def test_usable_url_is_accepted(url: str):
    AddressPolicy(["10.0.0.0/8"]).check_url(url)


def test_listed_ports_bind_inside_of_listed_networks_alone():
    policy = AddressPolicy(["10.0.0.0/8"], ["8000"])
    assert policy.allows("10.0.0.5", 8000)
    assert not policy.allows("10.0.0.5", 5432)
    assert not policy.allows("::ffff:10.0.0.5", 5432)
    assert policy.allows("8.8.8.8", 5432)
    assert not policy.allows("192.168.1.1", 8000)


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("http://10.0.0.5:8000/v1", True),
        ("http://10.0.0.5:8001/v1", False),
        ("http://10.0.0.5/v1", False),
        ("https://10.0.0.5/v1", True),
        ("https://example.com:8001/v1", True),
    ],
)
def test_port_of_a_url_is_its_scheme_s_if_it_names_none(url: str, is_allowed: bool):
    policy = AddressPolicy(["10.0.0.0/8"], ["8000", "443"])
    if is_allowed:
        policy.check_url(url)
        return
    with pytest.raises(ForbiddenAddress, match="port"):
        policy.check_url(url)


def test_text_that_is_no_port_is_refused():
    with pytest.raises(ValueError, match="invalid literal"):
        AddressPolicy(["10.1.0.0/16"], ["http"])
