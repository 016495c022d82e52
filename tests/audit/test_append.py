from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rfc8785
from django.db import IntegrityError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.audit import chain
from apps.audit.append import GENESIS_HASH
from apps.audit.errors import NotCanonical, StaleWrite
from apps.audit.models import ChainHead, Content, Entry
from apps.audit.selectors import entry_list, with_previous_hashes
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft, RowWrite
from apps.audit.verify import verify_team
from apps.core.errors import InvalidInput
from tests.audit.examples import (
    ALICE,
    INSERT_PROBE,
    RUN,
    append,
    batch,
    chain_of,
    digest_at,
    draft,
    execute,
    guard,
)
from tests.audit.test_canonical_json import VALUES

pytestmark = pytest.mark.django_db(transaction=True)


def test_seqs_start_at_one_and_go_on(team: uuid.UUID) -> None:
    assert append(team, draft(), draft()) == [1, 2]
    assert append(team, draft()) == [3]


def test_teams_have_chains_of_their_own(team: uuid.UUID) -> None:
    append(team)
    assert append(uuid.uuid4()) == [1]


def test_head_is_the_last_entry(team: uuid.UUID) -> None:
    append(team, draft(), draft())
    last = Entry.objects.for_team(team).get(seq=2)
    assert ChainHead.objects.values_list("seq", "hash").get(pk=team) == (2, last.hash)


def test_entry_reads_back_as_it_was_written(team: uuid.UUID) -> None:
    actor = Actor(
        "api_key", "7", "Zoë’s key", on_behalf_of="user:1", context={"ip": "::1"}
    )
    bodies = {"prompt": "Grüße \x00 😀", "empty": ""}
    written = EntryDraft(
        "run.created",
        "run",
        RUN,
        actor,
        {"n": [1, None]},
        bodies,
        "denied",
    )
    append(team, draft(), written)
    entry = entry_list(team)[1]
    assert (entry.action, entry.outcome, entry.actor) == (
        "run.created",
        "denied",
        actor,
    )
    assert (entry.data, entry.context) == ({"n": [1, None]}, {"ip": "::1"})
    assert (entry.bodies, entry.subject_id) == (bodies, RUN)


def test_entry_names_the_hash_before_it_where_that_is_asked_for(
    team: uuid.UUID,
) -> None:
    append(team, draft(), draft(subject_id=uuid.uuid4()), draft())
    first, second, third = with_previous_hashes(team, entry_list(team))
    assert (first.previous_hash, second.previous_hash) == (GENESIS_HASH, first.hash)
    of_run = with_previous_hashes(team, entry_list(team, subject_id=RUN))
    assert of_run == [first, third]
    assert with_previous_hashes(team, entry_list(team, after_seq=2)) == [third]


def test_list_is_bounded_and_of_one_subject(team: uuid.UUID) -> None:
    other = uuid.uuid4()
    append(team, draft(), draft(subject_id=other), draft(), draft())
    assert [e.seq for e in entry_list(team, subject_id=RUN, limit=2)] == [1, 3]


def test_list_takes_one_query(team: uuid.UUID, django_assert_num_queries: Any) -> None:
    append(team, *[draft(bodies={"a": "x", "b": "y"})] * 20)
    with django_assert_num_queries(1):
        entry_list(team)


def test_other_team_sees_nothing() -> None:
    chain_of(2)
    assert entry_list(uuid.uuid4()) == []


def test_time_is_the_databases_and_one_for_a_batch(team: uuid.UUID) -> None:
    append(team, draft(), draft())
    first, second = Entry.objects.for_team(team).order_by("seq")
    assert first.recorded_at == second.recorded_at == entry_list(team)[0].recorded_at
    assert abs(timezone.now() - first.recorded_at) < timedelta(seconds=10)


def test_bodies_are_not_stored_in_clear(team: uuid.UUID) -> None:
    append(team, draft(bodies={"prompt": "a very private text"}))
    content = Content.objects.for_team(team).get()
    assert b"private" not in bytes(content.sealed or b"")
    assert b"private" not in bytes(Entry.objects.for_team(team).get().canonical)


def test_equal_bodies_have_different_digests(team: uuid.UUID) -> None:
    append(team, draft(bodies={"a": "yes"}), draft(bodies={"a": "yes"}))
    assert digest_at(team, 1) != digest_at(team, 2)


def test_outside_a_transaction_nothing_is_appended(team: uuid.UUID) -> None:
    with pytest.raises(TransactionManagementError):
        entries_append(batch=batch(team))


def test_rollback_takes_the_entries_along(team: uuid.UUID) -> None:
    append(team)
    with transaction.atomic():
        entries_append(batch=batch(team, draft(bodies={"a": "b"})))
        transaction.set_rollback(True)
    assert append(team) == [2]
    assert verify_team(team).is_intact
    assert not Content.objects.for_team(team).exists()


def test_batch_without_entries_is_refused(team: uuid.UUID) -> None:
    with transaction.atomic(), pytest.raises(InvalidInput):
        entries_append(batch=Batch(team, ()))


@pytest.mark.parametrize(
    "bad",
    [
        draft(data={"cost": 0.5}),
        draft(bodies={"a": "\ud800"}),
        draft(bodies={"é": "a"}),
    ],
)
def test_unfit_draft_is_refused(team: uuid.UUID, bad: EntryDraft) -> None:
    with transaction.atomic(), pytest.raises(NotCanonical):
        entries_append(batch=batch(team, bad))


def test_writes_run_by_phase_and_in_order(team: uuid.UUID, probe: None) -> None:
    double = "UPDATE audit_probe SET count = count * %s WHERE name = %s"
    add = "UPDATE audit_probe SET count = count + %s WHERE name = %s"
    writes = (
        RowWrite(double, (2, "a"), 2),
        RowWrite(add, (1, "a"), 1),
        RowWrite(INSERT_PROBE, ("a", 10)),
        RowWrite(add, (2, "a"), 1),
    )
    with transaction.atomic():
        entries_append(batch=batch(team, writes=writes))
    assert execute("SELECT name, count FROM audit_probe") == [("a", 26)]


def test_parameters_are_stored_as_models_store_them(
    team: uuid.UUID, probe: None
) -> None:
    moment = datetime(2030, 1, 1, 12, tzinfo=UTC)
    sql = "UPDATE audit_chainhead SET seq = 41 WHERE team_id = %s AND %s > %s"
    append(team)
    with transaction.atomic():
        entries_append(
            batch=batch(
                uuid.uuid4(),
                writes=(RowWrite(sql, (team, moment, moment - timedelta(1))),),
            )
        )
    assert ChainHead.objects.get(pk=team).seq == 41


def test_write_that_must_change_a_row_does(team: uuid.UUID, probe: None) -> None:
    execute(INSERT_PROBE, "a", 1)
    with transaction.atomic():
        entries_append(batch=batch(team, writes=(guard("a"),)))
    assert execute("SELECT count FROM audit_probe") == [(2,)]


def test_write_that_finds_no_row_to_change_fails(team: uuid.UUID, probe: None) -> None:
    with pytest.raises(StaleWrite), transaction.atomic():
        entries_append(batch=batch(team, writes=(guard("gone"),)))
    assert not Entry.objects.for_team(team).exists()


def test_failing_write_takes_the_entries_along(team: uuid.UUID, probe: None) -> None:
    twice = (RowWrite(INSERT_PROBE, ("a", 1)),) * 2
    with pytest.raises(IntegrityError), transaction.atomic():
        entries_append(batch=batch(team, writes=twice))
    assert not Entry.objects.for_team(team).exists()


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.text("abc", max_size=3), VALUES, max_size=3),
            st.dictionaries(
                st.text("abc", max_size=3),
                st.text(st.characters(exclude_categories=["Cs"])),
                max_size=2,
            ),
            st.text(max_size=20),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_is_appended_is_canonical_and_verifies(
    values: list[tuple[dict[str, Any], dict[str, str], str]],
) -> None:
    team_id = uuid.uuid4()
    drafts = [
        EntryDraft("a.b", "run", RUN, Actor("user", "1", name), data, bodies)
        for data, bodies, name in values
    ]
    append(team_id, *drafts)
    assert verify_team(team_id).fault is None
    assert [(dict(e.data), dict(e.bodies)) for e in entry_list(team_id)] == [
        (data, bodies) for data, bodies, _ in values
    ]
    for entry in Entry.objects.for_team(team_id):
        canonical = bytes(entry.canonical)
        assert rfc8785.dumps(json.loads(canonical)) == canonical


def test_canonical_bytes_have_exactly_the_documented_shape(team: uuid.UUID) -> None:
    append(team, draft(bodies={"text": "abc"}))
    entry = Entry.objects.for_team(team).get()
    salt = bytes(Content.objects.for_team(team).get().salt or b"")
    digest = chain.tagged(chain.body_digest(salt, b"abc"))
    recorded = entry.recorded_at.isoformat(timespec="microseconds")
    hashed = json.loads(bytes(entry.canonical))
    assert uuid.UUID(hashed.pop("id")).version == 7
    assert hashed == {
        "v": 1,
        "action": "run.created",
        "outcome": "success",
        "recorded": recorded.replace("+00:00", "Z"),
        "actor": {"type": "user", "id": "1", "display": "Alice"},
        "targets": [{"type": "run", "id": str(RUN)}],
        "context": {},
        "data": {"round": 1},
        "bodies": {"text": {"digest": digest, "bytes": 3}},
    }


def test_actor_stays_when_the_row_is_gone(team: uuid.UUID) -> None:
    append(team)
    assert entry_list(team)[0].actor == ALICE
    assert not connection.introspection.get_relations(
        connection.cursor(), Entry._meta.db_table
    )
