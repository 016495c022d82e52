"""The ledger as syslog over TLS: real connections, and receivers that go wrong."""

from __future__ import annotations

import datetime
import ipaddress
import json
import re
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apps.audit.models import Entry
from apps.audit.selectors import entry_list
from apps.core.errors import Conflict, InvalidFields
from apps.webhooks.models import WebhookDelivery
from apps.webhooks.services import secret_rotate, webhook_update
from tests.audit.examples import append, draft
from tests.factories import ACTOR
from tests.rest.conftest import fault, member
from tests.webhooks.conftest import deliver_all, make_due

MESSAGE = re.compile(
    rb"<(?P<pri>\d+)>1 (?P<time>\S+) (?P<host>\S+) conductor - (?P<id>\S+) "
    rb'\[meta sequenceId="(?P<seq>\d+)"\] (?P<text>.+)',
    re.DOTALL,
)


def certificate(folder: Path) -> Path:
    """Write a key and a certificate for 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "siem")])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([here]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "siem.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path


@dataclass
class SyslogReceiver:
    """Reads connections one after the other; the next one goes as `plans` says."""

    context: ssl.SSLContext
    plans: list[str] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            plan = self.plans.pop(0) if self.plans else "read"
            try:
                self.read(plain, plan)
            except OSError:
                continue

    def read(self, plain: socket.socket, plan: str) -> None:
        with self.context.wrap_socket(plain, server_side=True) as connection:
            if plan == "reset":
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return
            parts = []
            while part := connection.recv(65_536):
                parts.append(part)
            self.received.append(b"".join(parts))
            if plan == "read":
                connection.unwrap()
            # "mute": the connection just closes

    def close(self) -> None:
        with suppress(OSError):  # closed already
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)

    @property
    def messages(self) -> list[re.Match[bytes]]:
        """Return all messages of all connections; their lengths must be right."""
        found = []
        for stream in self.received:
            rest = stream
            while rest:
                length, _, rest = rest.partition(b" ")
                message, rest = rest[: int(length)], rest[int(length) :]
                match = MESSAGE.fullmatch(message)
                assert match is not None, message
                found.append(match)
        return found

    @property
    def url(self) -> str:
        return f"syslog+tls://127.0.0.1:{self.port}"


@pytest.fixture
def siem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SyslogReceiver]:
    path = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    one = SyslogReceiver(context)
    yield one
    one.close()


@pytest.fixture
def stream(make: Any, siem: SyslogReceiver) -> Any:
    return make(kind="syslog", url=siem.url)[0]


def test_every_entry_is_a_message_in_order(cast, stream, siem, settings):
    settings.CONDUCTOR_URL = "https://conductor.example"
    append(cast.team.id, draft("run.completed", data={"n": "ü"}))
    failed = draft("run.failed")._replace(outcome="failure")
    append(cast.team.id, failed)
    deliver_all()
    entries = entry_list(cast.team.id)[-3:]
    assert [m["id"].decode() for m in siem.messages] == [e.action for e in entries]
    assert [int(m["seq"]) for m in siem.messages] == [e.seq for e in entries]
    assert [m["pri"] for m in siem.messages] == [b"110", b"110", b"108"]
    assert {m["host"] for m in siem.messages} == {b"conductor.example"}
    texts = [json.loads(m["text"]) for m in siem.messages]
    assert [text["hash"] for text in texts] == [e.hash for e in entries]
    assert texts[1]["entry"]["data"] == {"n": "ü"}
    row = Entry.objects.for_team(cast.team.id).get(seq=entries[1].seq)
    assert bytes(row.canonical) in siem.messages[1]["text"]


def test_a_receiver_that_closes_without_a_word_has_read_all(cast, stream, siem):
    siem.plans = ["mute"]
    deliver_all()
    assert len(siem.messages) == 1
    states = WebhookDelivery.objects.for_team(cast.team.id)
    assert list(states.values_list("state", "error")) == [("delivered", "")]


def test_after_a_reset_the_batch_is_sent_again(cast, stream, siem):
    siem.plans = ["reset"]
    append(cast.team.id, *[draft(data={"note": "x" * 9_000})] * 99)
    deliver_all()
    waiting = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert waiting.state == "waiting"
    assert "the connection broke" in waiting.error
    make_due()
    deliver_all()
    seqs = [int(m["seq"]) for m in siem.messages]
    assert seqs == list(range(seqs[0], seqs[0] + 100))


def test_an_unknown_certificate_is_refused(cast, stream, siem, monkeypatch, tmp_path):
    monkeypatch.delenv("SSL_CERT_FILE")
    deliver_all()
    waiting = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert waiting.error.startswith("its certificate is not valid")
    assert siem.received == []


def test_a_receiver_that_is_away_is_tried_again(cast, stream, siem):
    siem.close()
    deliver_all()
    waiting = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert waiting.error == "could not connect: Connection refused"


def test_g16_the_address_is_checked_when_it_is_called(cast, stream, siem, settings):
    settings.WEBHOOK_NETWORKS = ()
    deliver_all()
    waiting = WebhookDelivery.objects.for_team(cast.team.id).get()
    assert waiting.error == "the address is not in an allowed network"
    assert siem.received == []


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"kind": "syslog", "url": "https://siem.example"}, "url"),
        ({"kind": "ledger", "url": "syslog+tls://siem.example"}, "url"),
        ({"kind": "syslog", "url": "syslog+tls://siem.example/x"}, "url"),
        ({"kind": "syslog", "url": "syslog+tls://10.0.0.1"}, "url"),
        ({"kind": "syslog", "url": "syslog+tls://"}, "url"),
        (
            {
                "kind": "syslog",
                "url": "syslog+tls://siem.example",
                "header_name": "X-A",
                "header_value": "b",
            },
            "header_name",
        ),
    ],
)
def test_wrong_addresses_and_headers_are_refused(make, values, field):
    with pytest.raises(InvalidFields) as caught:
        make(**values)
    assert field in caught.value.fields


def test_there_is_no_secret(cast, stream, siem):
    with pytest.raises(Conflict):
        secret_rotate(webhook=stream, actor=ACTOR)
    alice = member(cast.alice)
    fault(alice.post(f"webhooks/{stream.id}/secret/", {}), 409)
    values = {"name": "S", "kind": "syslog", "url": siem.url}
    made = alice.post("webhooks/", values)
    assert (made.status_code, made.json()["secret"]) == (201, "")
    moved = {"url": "syslog+tls://siem.example:6514"}
    changed = webhook_update(webhook=stream, values=moved, actor=ACTOR)
    assert changed.url == moved["url"]


def test_the_page_leads_to_the_stream_at_once(cast, siem):
    client = member(cast.alice).client
    values = {"name": "SIEM", "kind": "syslog", "url": siem.url}
    answer = client.post("/webhooks/new/", values)
    assert answer.status_code == 302
    page = client.get(answer.headers["location"]).content.decode()
    assert "as syslog over TLS, in order" in page
    assert "Replace secret" not in page
    edit = client.get(f"{answer.headers['location']}edit/").content.decode()
    assert 'name="header_name"' not in edit
