"""Reads a form with a file. Nothing of it touches the disk: files hold prompts."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from apps.core.errors import InvalidInput

FORM = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Upload:
    """A form that has been sent."""

    fields: dict[str, str]
    filename: str
    content: bytes


class _InMemory(FileUploadHandler):
    """Keeps one file in memory; the body has been bounded before."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._pieces: list[bytes] = []

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._pieces.append(raw_data)

    def file_complete(self, file_size: int) -> SimpleUploadedFile:
        return SimpleUploadedFile(self.file_name or "file", b"".join(self._pieces))


def read_upload(raw: bytes, content_type: str) -> Upload:
    """Return the form in `raw`; its file is the field `file`. Raises: InvalidInput."""
    if not content_type.lower().startswith(FORM):
        raise InvalidInput(f"send the file as a form ({FORM})", param="file")
    meta = {"CONTENT_TYPE": content_type, "CONTENT_LENGTH": len(raw)}
    try:
        parser = MultiPartParser(meta, BytesIO(raw), [_InMemory()])
        fields, files = parser.parse()
    except (MultiPartParserError, TooManyFieldsSent, RequestDataTooBig) as exc:
        raise InvalidInput(f"the form cannot be read: {exc}") from exc
    file = files.get("file")
    if file is None:
        raise InvalidInput("file: a file is required", param="file")
    texts = {name: str(value) for name, value in fields.items()}
    return Upload(texts, file.name, file.read())
