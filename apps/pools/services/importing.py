"""Importing pool files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.pools.pool_file import PoolDocument
from apps.pools.pool_file_import import PoolImport, addresses_check, secrets_read
from apps.pools.pool_transaction import pool_change
from apps.pools.types import ImportReport


def pool_import(
    *, team: Team, document: PoolDocument, actor: Actor, environ: Mapping[str, str]
) -> ImportReport:
    """Create or update a pool and everything it is made of from a pool file.

    Idempotent: a second import of the same file changes nothing, records nothing and
    leaves the version alone. Secrets are read from `environ` by the names in the file.
    Raises: PoolDocumentInvalid if a variable is missing or an address is forbidden.
    """
    addresses_check(document)
    secrets = secrets_read(document, environ)
    with pool_change(team.id, actor) as change:
        work = PoolImport(team, secrets)
        pool = work.run(document)
        if work.has_changes:
            for row in work.credentials.values():
                change.record("credential.set", row, scheme=row.scheme, host=row.host)
            change.record("pool.imported", pool, **_facts(work, document))
    pool.refresh_from_db(fields=["version"])
    return ImportReport(
        pool=pool.name,
        version=pool.version,
        created=tuple(work.created),
        changed=tuple(work.changed),
        unchanged=work.unchanged,
    )


def _facts(work: PoolImport, document: PoolDocument) -> dict[str, Any]:
    return {
        "fallback": document.pool.fallback,
        "conductor": document.conductor.name if document.conductor else None,
        "workers": [
            {"name": worker.name, "model": worker.model, "base_url": worker.base_url}
            for worker in document.workers
        ],
        "created": work.created,
        "changed": work.changed,
    }
