"""Mails to people who can approve a plan: the data class, and links made for them."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Role, User
from apps.governance.approvals.links import (
    ALTERED,
    LATE,
    OTHER_PERSON,
    OTHER_PLAN,
    approval_link,
    link_fault,
)
from apps.governance.emails import approvers_notify
from apps.runs.models import ApprovalState, PlanApproval
from tests.conftest import Cast, Site
from tests.factories import MembershipFactory, TeamFactory, UserFactory
from tests.governance.approval_runs import HOLD, colleague, pending, start
from tests.governance.test_policies import in_force
from tests.patience import eventually
from tests.rest.conftest import Caller, member
from tests.rest.things import make_run

DIGEST = "a" * 64


@pytest.fixture
def approval(cast: Cast) -> PlanApproval:
    """A plan of bob's run that waits."""
    run_id = make_run(cast)
    return PlanApproval.objects.create(
        run_id=run_id,
        team=cast.team,
        round=0,
        state=ApprovalState.WAITING,
        plan_digest=DIGEST,
        approvals_needed=1,
        requester_id=cast.bob.id,
        requested_at=timezone.now(),
        expires_at=timezone.now() + timedelta(hours=1),
    )


@pytest.fixture
def approvals_sent(mailoutbox: list[Any]) -> Any:
    """Return the mails, once so many have been sent."""

    def inner(number: int) -> list[Any]:
        assert eventually(lambda: len(mailoutbox) >= number)
        return mailoutbox

    return inner


def told(user: User, link: str) -> str:
    """Return the page that a link leads a person to."""
    page = member(user).client.get(link, follow=True)
    assert page.status_code == 200
    return str(page.content.decode())


# --- the data class -------------------------------------------------------------------


def held_with_class(site: Site) -> tuple[Caller, uuid.UUID]:
    rule = {**HOLD, "conditions": {"data_class": "confidential"}}
    in_force(site, rule)
    prompt = "Pay to DE89 3704 0044 0532 0130 00."
    return member(site.cast.alice), start(member(site.cast.bob), prompt)


def test_those_who_decide_see_the_data_class(site: Site, approvals_sent: Any) -> None:
    alice, run_id = held_with_class(site)
    assert pending(alice, run_id)["data_class"] == "confidential"
    page = alice.client.get(f"/runs/{run_id}/approval/").content.decode()
    assert "<dt>Data class</dt><dd>Confidential</dd>" in page
    (mail,) = approvals_sent(1)
    assert "Data class of the prompt: confidential" in mail.body


def test_a_class_that_no_rule_depends_on_is_not_shown(
    site: Site, approvals_sent: Any
) -> None:
    in_force(site, HOLD)
    alice, run_id = member(site.cast.alice), start(member(site.cast.bob))
    assert pending(alice, run_id)["data_class"] is None
    page = alice.client.get(f"/runs/{run_id}/approval/").content.decode()
    (mail,) = approvals_sent(1)
    assert "Data class" not in page + mail.body


# --- links ----------------------------------------------------------------------------


def test_a_mail_leads_its_reader_to_the_plan_and_approves_nothing(
    site: Site, approvals_sent: Any
) -> None:
    in_force(site, HOLD)
    run_id = start(member(site.cast.bob))
    (mail,) = approvals_sent(1)
    (link,) = re.findall(r"http\S+", mail.body)
    assert f"/runs/{run_id}/approval/link/?link=" in link
    page = told(site.cast.alice, link)
    assert pending(member(site.cast.alice), run_id)["plan_digest"] in page
    assert "This link" not in page
    assert PlanApproval.objects.across_teams().get(run_id=run_id).state == "waiting"


def test_a_link_shows_nothing_without_a_sign_in(
    approval: PlanApproval, cast: Cast
) -> None:
    link = approval_link(approval, cast.alice.id)
    answer = Client().get(link)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/accounts/login/?next=/runs/")
    assert "link%3D" in answer.headers["Location"]


def test_a_link_chooses_the_team_of_its_plan(
    approval: PlanApproval, cast: Cast
) -> None:
    other = TeamFactory.create(name="AAA")  # the first by name, so the one shown
    MembershipFactory.create(team=other, user=cast.alice, role=Role.OWNER)
    client = member(cast.alice).client
    client.get(approval_link(approval, cast.alice.id))
    assert client.session["team_id"] == str(cast.team.id)


def test_outsiders_get_404_with_any_link(approval: PlanApproval, cast: Cast) -> None:
    for person in (cast.alice, cast.mallory):
        link = approval_link(approval, person.id)
        assert member(cast.mallory).client.get(link).status_code == 404


def test_each_way_in_which_a_link_does_not_fit(
    approval: PlanApproval, cast: Cast
) -> None:
    reader = cast.alice.id
    token = approval_link(approval, reader).partition("?link=")[2]
    assert link_fault(token, approval, reader) == ""
    assert link_fault(token, approval, cast.bob.id) == OTHER_PERSON
    assert link_fault(f"{token}x", approval, reader) == ALTERED
    assert link_fault("", approval, reader) == ALTERED
    approval.plan_digest = "b" * 64
    assert link_fault(token, approval, reader) == OTHER_PLAN


def test_a_link_is_of_one_run(approval: PlanApproval, cast: Cast) -> None:
    token = approval_link(approval, cast.alice.id).partition("?link=")[2]
    approval.run_id = uuid.uuid4()
    assert link_fault(token, approval, cast.alice.id) == ALTERED


def test_a_link_is_valid_for_as_long_as_the_plan_may_wait(
    approval: PlanApproval, cast: Cast
) -> None:
    token = approval_link(approval, cast.alice.id).partition("?link=")[2]
    approval.requested_at = approval.expires_at
    assert link_fault(token, approval, cast.alice.id) == LATE


def test_a_link_that_does_not_fit_says_so_and_offers_the_present_plan(
    site: Site,
) -> None:
    in_force(site, HOLD)
    run_id = start(member(site.cast.bob))
    row = PlanApproval.objects.across_teams().get(run_id=run_id)
    ada = colleague(site, "ada", Role.ADMIN)
    own = approval_link(row, ada.id)
    row.plan_digest = "0" * 64
    links = {
        OTHER_PERSON: approval_link(row, site.cast.alice.id),
        OTHER_PLAN: approval_link(row, ada.id),
        ALTERED: own[:-1],
    }
    for words, link in links.items():
        page = told(ada, link)
        assert f"{words} Below is the plan as it stands now." in page
        assert 'id="decide"' in page
    assert "This link" not in told(ada, own)


def test_after_the_decision_a_link_leads_to_the_run(
    approval: PlanApproval, cast: Cast
) -> None:
    link = approval_link(approval, cast.bob.id)
    approval.settled_at = timezone.now()
    approval.save()
    page = told(cast.alice, link)
    assert "No plan of this run waits for an approval any more." in page
    assert "This link" not in page


def test_each_person_gets_a_link_of_their_own(
    approval: PlanApproval, cast: Cast, mailoutbox: list[Any]
) -> None:
    rita = UserFactory.create(email="rita@example.org")
    MembershipFactory.create(team=cast.team, user=rita, role=Role.REVIEWER)
    assert approvers_notify(approval.run_id) == len(mailoutbox) == 2
    links = {re.findall(r"link=(\S+)", mail.body)[0] for mail in mailoutbox}
    assert len(links) == 2
