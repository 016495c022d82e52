"""The page of a run whose plan waits says who may approve it, and until when."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from tests.conftest import Site
from tests.governance.approval_runs import HOLD, approve, pending, start
from tests.governance.test_policies import in_force
from tests.patience import eventually
from tests.rest.conftest import member


def page(client: Client, site: Site, run_id: object) -> str:
    client.force_login(site.cast.alice)
    answer = client.get(reverse("playground:run_detail", args=[run_id]))
    return " ".join(answer.content.decode().split())


def test_who_may_approve_is_said_while_the_plan_waits(
    site: Site, client: Client
) -> None:
    in_force(site, HOLD)
    run_id = start(member(site.cast.bob))
    words = page(client, site, run_id)
    assert "other than the one who asked: Owner, Admin, Reviewer." in words
    assert "It waits until <time" in words
    alice = member(site.cast.alice)
    digest = pending(alice, run_id)["plan_digest"]
    assert approve(alice, run_id, digest).status_code == 200
    assert eventually(lambda: "who asked" not in page(client, site, run_id))
