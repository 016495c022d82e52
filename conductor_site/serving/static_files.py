"""Serves the site's own files: joined, compressed, under names with their digests.

All of `static/` is read once, when a process first needs it, and served as it was then,
whatever happens to the folder: an edit shows after a restart. A digest covers all that
a file leads to, so a page and its scripts are of one state, and a browser never asks
twice for an address with a digest. Files of other apps (the admin, the description of
the API) are served as they are, by ServeStatic.

With `DEBUG` none of this happens: browsers get the sources as they are at that moment.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import posixpath
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from servestatic.media_types import MediaTypes
from servestatic.utils import parse_accept_encoding

from conductor_site.serving import joining
from conductor_site.serving.joining import Joiner, is_joined, reached

Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

DIGEST_LENGTH = 12
DIGEST = re.compile(rf"\.[0-9a-f]{{{DIGEST_LENGTH}}}")
"""As it stands before the ending of a name."""
IMMUTABLE = b"public, max-age=31536000, immutable"
REVALIDATED = b"no-cache"
"""For names without a digest, or with that of another state."""
COMPRESSED_KINDS = (".woff2",)
"""Endings of files that gzip makes no smaller."""
MEDIA_TYPES = MediaTypes()


@dataclass(frozen=True)
class StaticFile:
    """A file as it is served."""

    address: str
    """Its name with its digest."""
    content: bytes
    compressed: bytes
    """The content in gzip; empty if that makes it no smaller."""


class StaticFiles:
    """The site's own files, as they were when they were read."""

    def __init__(self, folder: Path) -> None:
        self._sources = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        self._digests = {
            name: hashlib.sha256(content).digest()
            for name, content in self._sources.items()
        }
        self._joiner = Joiner(self._text_of, self.address_of)
        self._references = {
            name: self._references_of(name) for name in filter(is_joined, self._sources)
        }
        self._addresses = {name: self._with_digest(name) for name in self._sources}
        self._files: dict[str, StaticFile] = {}

    def address_of(self, name: str) -> str:
        """Return a file's name with its digest, and any other name as it is."""
        return self._addresses.get(name, name)

    def name_of(self, path: str) -> str | None:
        """Return the name of the file at a path, with any digest or none."""
        if path in self._sources:
            return path
        stem, ending = posixpath.splitext(path)
        name, digest = posixpath.splitext(stem)
        is_known = DIGEST.fullmatch(digest) and name + ending in self._sources
        return name + ending if is_known else None

    async def file(self, name: str) -> StaticFile:
        """Return a file as it is served."""
        if name not in self._files:
            self._files[name] = await asyncio.to_thread(self._made, name)
        return self._files[name]

    def _made(self, name: str) -> StaticFile:
        content = self._sources[name]
        if is_joined(name):
            content = self._joiner.joined(name).encode()
        is_small = name.endswith(COMPRESSED_KINDS)
        compressed = b"" if is_small else gzip.compress(content, mtime=0)
        return StaticFile(self._addresses[name], content, compressed)

    def _text_of(self, name: str) -> str:
        return self._sources[name].decode()

    def _references_of(self, name: str) -> list[str]:
        names = self._joiner.references(name)
        for missing in set(names) - set(self._sources):
            raise FileNotFoundError(f"{name} names {missing}, which is not there")
        return names

    def _with_digest(self, name: str) -> str:
        digest = hashlib.sha256(_joining_digest())
        for used in sorted(reached(name, self._references)):
            digest.update(used.encode() + self._digests[used])
        stem, ending = posixpath.splitext(name)
        return f"{stem}.{digest.hexdigest()[:DIGEST_LENGTH]}{ending}"


class StaticFilesApplication:
    """Answers requests for the site's own files, and hands on all others."""

    def __init__(self, files: StaticFiles, application: Application) -> None:
        self._files = files
        self._application = application

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(settings.STATIC_URL)
        name = self._files.name_of(path) if path != scope["path"] else None
        if name is None or scope["method"] not in {"GET", "HEAD"}:
            await self._application(scope, receive, send)
            return
        file = await self._files.file(name)
        status, headers, body = _response(file, path, dict(scope["headers"]))
        start = {"type": "http.response.start", "status": status, "headers": headers}
        await send(start)
        if scope["method"] == "HEAD":
            body = b""
        await send({"type": "http.response.body", "body": body})


class SiteStorage(StaticFilesStorage):
    """Gives pages the addresses of the site's own files with their digests."""

    def url(self, name: str | None) -> str:
        """Return the address that pages use for a file."""
        if name and not settings.DEBUG:
            name = static_files().address_of(name)
        return super().url(name)


@cache
def static_files() -> StaticFiles:
    """Return the files of this process."""
    return StaticFiles(settings.BASE_DIR / "static")


def _response(
    file: StaticFile, path: str, request: dict[bytes, bytes]
) -> tuple[int, Headers, bytes]:
    """Return status, headers and body of the answer to a request for a file."""
    is_current = path == file.address
    tag = b'"%s"' % file.address.encode()
    headers: Headers = [
        (b"cache-control", IMMUTABLE if is_current else REVALIDATED),
        (b"etag", tag),
        (b"vary", b"accept-encoding"),
        (b"access-control-allow-origin", b"*"),
    ]
    if request.get(b"if-none-match") == tag:
        return 304, headers, b""
    body = file.content
    accepted = request.get(b"accept-encoding", b"").decode("latin-1")
    if file.compressed and "gzip" in parse_accept_encoding(accepted):
        body = file.compressed
        headers.append((b"content-encoding", b"gzip"))
    kind = MEDIA_TYPES.get_type(file.address)
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    headers.append((b"content-type", kind.encode()))
    headers.append((b"content-length", str(len(body)).encode()))
    return 200, headers, body


@cache
def _joining_digest() -> bytes:
    """Return a digest of the way in which files are joined: contents depend on it."""
    return hashlib.sha256(Path(joining.__file__).read_bytes()).digest()
