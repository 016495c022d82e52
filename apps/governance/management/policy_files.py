"""Policies as files of JSON, as the commands read and print them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from apps.governance.models import PolicyVersion, SitePolicyVersion
from apps.governance.policies.rules import rules_parse


def policy_file_read(path: Path) -> dict[str, Any]:
    """Return the values of a policy in a file, for a service to check.

    Raises: CommandError if there is no such text; InvalidInput if it is no JSON object.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise CommandError(f"cannot read {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise CommandError(f"{path} is not UTF-8 text") from exc
    return rules_parse(text)


def policy_file_text(row: PolicyVersion | SitePolicyVersion | None) -> str:
    """Return a version as `policy_file_read` takes it, readable or not."""
    values = {"rules": [], **(row.document if row else {})}
    return json.dumps(values, ensure_ascii=False, indent=2)
