"""The policy for network addresses of model endpoints.

Public addresses are allowed. Everything else (loopback, private, link-local with its
metadata services, multicast, reserved) only inside the networks the operator lists.
`check_url` is for the moment an address is saved; the HTTP module asks `allows` again
for the very address each socket connects to, so a name that changes its mind is caught.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
DEFAULT_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[a-z0-9._-]+")
"""ASCII alone: resolvers read a full-width or circled digit as the plain one."""
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",  # Azure's host, which its machines alone reach
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata service was here
        "192.88.99.0/24",  # relays of 6to4, given up in RFC 7526
        "fec0::/10",  # site-local: given up in RFC 3879, but routed inside of sites
        "3fff::/20",  # documentation, RFC 9637
    )
)
"""What Python's tables call public, and no model's provider has."""


SERVICE_PORTS = frozenset(
    (
        *(21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 587, 636, 873),
        *(993, 995, 1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4222),
        *(5432, 5433, 5671, 5672, 5900, 5984, 6379, 6380, 6432, 6443, 9042, 9092),
        *(9200, 9300, 10250, 10255, 11211, 16379, 26257, 26379, 27017, 27018, 27019),
    )
)
"""Ports of mail, files, shells, databases, queues and clusters. No model is served
there, and what is served there often asks for no key inside of its network."""


class ForbiddenAddress(PermissionError):
    """An address that the operator does not allow models to have."""


class NetworkNotAllowed(ForbiddenAddress):
    """It is in a network that the operator would have to list."""


class PortNotAllowed(ForbiddenAddress):
    """Its network is allowed; the operator would have to list its port."""


class AddressPolicy:
    """Decides by address, never by name."""

    __slots__ = ("_networks", "_ports")

    def __init__(
        self,
        allowed_networks: Iterable[str] = (),
        allowed_ports: Iterable[str | int] = (),
    ) -> None:
        """Allow `allowed_networks` (CIDR) beside the public addresses.

        Inside of them only `allowed_ports`; none given: all but `SERVICE_PORTS`.
        Raises: ValueError for a text that is not a network or not a number.
        """
        self._networks = tuple(ipaddress.ip_network(text) for text in allowed_networks)
        self._ports = frozenset(int(port) for port in allowed_ports)

    def allows(self, address: str, port: int) -> bool:
        """Say whether a socket may connect to `address`, a literal, at `port`."""
        ip = _innermost(ipaddress.ip_address(address.partition("%")[0]))
        if self._lists(ip):
            if self._ports:
                return port in self._ports
            return port not in SERVICE_PORTS
        if any(ip in network for network in NOT_PUBLIC):
            return False
        return ip.is_global and not ip.is_multicast and not ip.is_reserved

    def check_url(self, url: str) -> None:
        """Refuse a base address that can never be right.

        Names are not resolved here. Raises: ForbiddenAddress with the reason.
        """
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
        except ValueError as exc:
            raise ForbiddenAddress("the address cannot be read as a URL") from exc
        if parts.scheme not in DEFAULT_PORTS or not host:
            raise ForbiddenAddress("expected an address like https://host/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ForbiddenAddress("user, query and fragment are not allowed")
        if not _HOST.fullmatch(host) and ":" not in host:
            raise ForbiddenAddress("the host has characters no host has")
        literal = _literal(host)
        if literal is not None and not self.allows(literal, port):
            if self._lists(_innermost(ipaddress.ip_address(literal))):
                raise PortNotAllowed(f"port {port} of {host} is not allowed")
            raise NetworkNotAllowed(f"{host} is not in an allowed network")

    def _lists(self, ip: IpAddress) -> bool:
        return any(ip in network for network in self._networks)


def _literal(host: str) -> str | None:
    """Return the address that a host spells out; None if it is a name to resolve."""
    host = host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"  # RFC 6761, section 6.3
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        # Resolvers also read 127.1, 0x7f000001 and 2130706433 as addresses.
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _innermost(ip: IpAddress) -> IpAddress:
    """Return the IPv4 address that an IPv6 one wraps, else the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    teredo = ip.teredo[1] if ip.teredo else None
    return ip.ipv4_mapped or ip.sixtofour or teredo or ip
