"""Changes to pools and credentials. Each commits together with its ledger entries.

Entries, reports and errors name credentials and never hold a secret. After the commit
this process forgets its snapshots of the team; others do within `CACHE_SECONDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.pools.documents import PoolDocument
from apps.pools.importing import PoolImport, credential_put, secrets_read
from apps.pools.models import Credential, Pool
from apps.pools.selectors import snapshots_forget
from apps.pools.types import ImportReport


@transaction.atomic
def credential_set(
    *, team: Team, name: str, host: str, secret: str, actor: Actor
) -> Credential:
    """Store a provider's key for one `host` (`host:port`), replacing an earlier one.

    Setting the same secret again changes nothing and records nothing.
    """
    row, change = credential_put(team=team, name=name, host=host, secret=secret)
    if change != "none":
        _append(team, [_credential_draft(row, actor)])
        _forget_snapshots(team)
    return row


@transaction.atomic
def pool_import(
    *, team: Team, document: PoolDocument, actor: Actor, environ: Mapping[str, str]
) -> ImportReport:
    """Create or update a pool and everything it is made of from a pool file.

    Idempotent: a second import of the same file changes nothing, records nothing and
    leaves the version alone. Secrets are read from `environ` by the names in the file.
    Raises: PoolDocumentInvalid if a variable is missing.
    """
    secrets = secrets_read(document, environ)
    # Two imports at once would each miss the rows the other one is creating.
    Team.objects.select_for_update().get(pk=team.pk)
    work = PoolImport(team, secrets)
    pool = work.run(document)
    if work.has_changes:
        others = _bump_versions(team, pool, work)
        pool.refresh_from_db(fields=["version"])
        _append(team, _import_drafts(work, pool, others, document, actor))
        _forget_snapshots(team)
    return ImportReport(
        pool=pool.name,
        version=pool.version,
        created=tuple(work.created),
        changed=tuple(work.changed),
        unchanged=work.unchanged,
    )


def _bump_versions(team: Team, pool: Pool, work: PoolImport) -> list[Pool]:
    """Count up every pool that is not what it was; return those besides `pool`."""
    pools = Pool.objects.for_team(team.id)
    if f"pool {pool.name}" not in work.created:
        pools.filter(id=pool.id).update(version=F("version") + 1)
    uses_touched = Q(places__worker__in=work.touched) | Q(conductor__in=work.touched)
    ids = pools.filter(uses_touched).exclude(id=pool.id).values_list("id", flat=True)
    others = pools.filter(id__in=list(ids))
    others.update(version=F("version") + 1)
    return list(others)


def _import_drafts(
    work: PoolImport,
    pool: Pool,
    others: list[Pool],
    document: PoolDocument,
    actor: Actor,
) -> list[EntryDraft]:
    facts: dict[str, Any] = {
        "pool": pool.name,
        "version": pool.version,
        "fallback": document.pool.fallback,
        "conductor": document.conductor.name if document.conductor else None,
        "workers": [
            {"name": worker.name, "model": worker.model, "base_url": worker.base_url}
            for worker in document.workers
        ],
        "created": work.created,
        "changed": work.changed,
    }
    return [
        *(_credential_draft(row, actor) for row in work.credentials.values()),
        _draft("pool.imported", pool, actor, facts),
        *(
            _draft(
                "pool.changed",
                other,
                actor,
                {
                    "pool": other.name,
                    "version": other.version,
                    "by_import_of": pool.name,
                },
            )
            for other in others
        ),
    ]


def _credential_draft(credential: Credential, actor: Actor) -> EntryDraft:
    facts = {"name": credential.name, "host": credential.host}
    return _draft("credential.set", credential, actor, facts)


def _draft(
    action: str, subject: Credential | Pool, actor: Actor, data: Mapping[str, Any]
) -> EntryDraft:
    return EntryDraft(
        action=action,
        subject_type=action.partition(".")[0],
        subject_id=subject.id,
        actor=actor,
        data=data,
    )


def _append(team: Team, drafts: list[EntryDraft]) -> None:
    entries_append(batch=Batch(team_id=team.id, drafts=tuple(drafts)))


def _forget_snapshots(team: Team) -> None:
    transaction.on_commit(lambda: snapshots_forget(team.id))
