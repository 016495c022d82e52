"""Every entry that a person or an API key causes says by which request.

The walk below changes one of everything over REST, the pages and `/v1`. An action of
the ledger that it never causes must be listed here with the reason.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest
from django.conf import settings as conf
from django.test import Client

from apps.accounts.models import OFFERED_SCOPES, Team, User
from apps.accounts.services import invitation_create
from apps.alerts.models import Alert
from apps.audit.models import Entry, FullCheck, JobState, LedgerExport
from apps.evaluation.models import ShadowTest
from apps.evaluation.shadow.selectors import FEWEST_PAIRS
from apps.governance.approvals.pending import pending_plan
from apps.pools.selectors import access_pool, planner_version
from apps.runs.models import PlanApproval
from apps.simulator.app import create_app
from apps.webhooks.models import Webhook, WebhookDelivery
from tests.conftest import Cast, Site, add_worker
from tests.evaluation.samples import documents, pairs_add
from tests.factories import ACTOR, MembershipFactory, UserFactory, issue_key
from tests.patience import awaited, eventually
from tests.serving import serving
from tests.training.conducted import SMALL, add_planner, trains_here
from tests.training.made_trainings import add_broken_promise

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = {
    "alert",
    "alert_rule",
    "api_key",
    "approval",
    "audit",
    "batch",
    "budget",
    "conductor",
    "conductor_training",
    "credential",
    "feedback",
    "evaluation",
    "shadow_test",
    "ab_test",
    "file",
    "invitation",
    "ledger_export",
    "legal_hold",
    "member",
    "policy",
    "pool",
    "retention",
    "review",
    "run",
    "site_policy",
    "suite",
    "team",
    "training",
    "webhook",
    "worker",
}
BY_NO_REQUEST = {
    "alert.opened": "a job that looks at the rules",
    "alert.closed": "a job that looks at the rules",
    "alert.escalated": "a job that looks at the rules",
    "approval.requested": "the engine",
    "approval.settled": "the engine",
    "audit.content_erased": "retention erases, as a job",
    "audit.head_accepted": "an operator's command",
    "batch.ended": "the driver of batches, as a job",
    "evaluation.imported": "a command",
    "budget.reservations_freed": "a job that frees what crashed runs reserved",
    "pool.imported": "a command",
    "pool.planner_fitted": "a training, as a job",
    "policy.decided": "the engine",
    "run.completed": "the engine",
    "run.failed": "the engine",
    "run.ended": "an event of webhooks, and no entry",
    "run.recorded": "a frame of websockets, and no entry",
    "run.resumed": "the engine",
    "budget.crossed": "a job that looks at what runs have cost",
    "webhook.disabled": "the delivery, as a job",
    "webhook.dropped": "the delivery, as a job",
    "worker.measured": "the end of an evaluation, as a job",
}
ACTION = re.compile(rf"({'|'.join(SUBJECTS)})\.(?!is_)[a-z_]+(ed|set|sent|left)")
AGENT = "walk/1.0"
SLOW = "delay-3600000"


def actions_in_source() -> set[str]:
    """Return every action of an entry that the code names as a string."""
    found = set()
    for path in (ROOT / "apps").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            if ACTION.fullmatch(node.value):
                found.add(node.value)
    return found


@dataclass
class Walk:
    """Sends requests with ids of their own, as alice or as a program with her key."""

    site: Site
    key: str
    """Of the team, with every scope."""
    sent: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request with the key of the team; return its JSON."""
        headers = {**self._bearer, "If-Match": "*"}
        answer = self._send(method, f"/api/v1/{path}", json=body, headers=headers)
        return answer.json() if answer.content else None

    def v1(self, method: str, path: str, **options: Any) -> Any:
        return self._send(method, f"/v1/{path}", headers=self._bearer, **options).json()

    def page(self, user: User, path: str, **form: str) -> None:
        """Post a form as a signed-in person."""
        browser = Client()
        browser.force_login(user)
        cookies = {name: morsel.value for name, morsel in browser.cookies.items()}
        token = "t" * 32
        cookies[conf.CSRF_COOKIE_NAME] = token
        headers = {"X-CSRFToken": token, "Origin": self.site.url}
        self._send("POST", path, data=form, headers=headers, cookies=cookies)

    @property
    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def _send(
        self, method: str, path: str, headers: dict[str, str], **options: Any
    ) -> httpx.Response:
        request_id = f"walk-{next(self.numbers)}"
        self.sent.add(request_id)
        named = {**headers, "X-Request-Id": request_id, "User-Agent": AGENT}
        url = f"{self.site.url}{path}"
        answer = httpx.request(method, url, headers=named, timeout=60, **options)
        assert answer.status_code < 400, (method, path, answer.text[:300])
        assert answer.headers["x-request-id"] == request_id
        return answer


@pytest.fixture
def walk(site: Site) -> Iterator[Walk]:
    cast = site.cast
    key = issue_key(cast.team, scopes=OFFERED_SCOPES, created_by=cast.alice)
    with serving(create_app(speed=1), ws="none") as url:
        add_worker(cast.team, f"{url}/v1", SLOW)
        yield Walk(site, key.secret)


def entries_of_requests(*teams: Team) -> list[dict[str, Any]]:
    """Return the entries by people and keys, as they were hashed."""
    rows = Entry.objects.across_teams().filter(team_id__in=[team.id for team in teams])
    documents = [orjson.loads(bytes(row.canonical)) for row in rows.order_by("seq")]
    return [each for each in documents if each["actor"]["type"] in {"user", "api_key"}]


def change_the_team(walk: Walk, cast: Cast) -> None:
    walk.page(cast.alice, "/teams/new/", name="Quartet")
    walk.page(cast.alice, "/team/rename/", name="Choir")
    walk.page(cast.alice, "/team/rates/", requests_per_minute="6000")
    invited = UserFactory.create(email="carol@example.org")
    _, token = invitation_create(
        team=cast.team, email=invited.email, role="member", actor=ACTOR
    )
    walk.page(invited, f"/invitations/{token}/")
    new = walk.rest("POST", "invitations/", {"email": "dan@example.org"})
    walk.rest("POST", f"invitations/{new['id']}/resend/")
    walk.rest("DELETE", f"invitations/{new['id']}/")
    walk.rest("PATCH", f"members/{invited.id}/", {"role": "viewer"})
    walk.rest("DELETE", f"members/{invited.id}/")
    walk.page(cast.vera, "/team/leave/")
    key = walk.rest("POST", "keys/", {"name": "Second", "scopes": ["runs:create"]})
    walk.rest("PATCH", f"keys/{key['id']}/", {"name": "Renamed"})
    newer = walk.rest("POST", f"keys/{key['id']}/rotate/")
    walk.rest("POST", f"keys/{newer['id']}/revoke/")
    walk.page(
        cast.alice,
        "/policy/rules/new/",
        name="R",
        mode="shadow",
        effect="deny",
        version="0",
    )
    operator = UserFactory.create(is_staff=True, is_superuser=True)
    rules = '{"rules": [{"name": "R", "mode": "off", "effect": {"kind": "deny"}}]}'
    walk.page(operator, "/admin/policy/", policy=rules, version="0")
    walk.page(cast.alice, "/retention/edit/", days="400")
    walk.page(cast.alice, "/holds/new/", reason="Matter 7")
    (hold,) = walk.rest("GET", "holds/")["data"]
    walk.page(cast.alice, f"/holds/{hold['id']}/release/")


def change_the_pool(walk: Walk, cast: Cast) -> None:
    at = {"base_url": walk.site.simulator_url}
    secret = {"name": "Provider", "secret": "sk-canary", **at}
    credential = walk.rest("POST", "credentials/", secret)
    walk.rest("PATCH", f"credentials/{credential['id']}/", {"name": "Renamed"})
    values = {"name": "walker", "model": "sim-delta", **at}
    price = {"input_usd": "2", "output_usd": "6.5"}
    worker = walk.rest("POST", "workers/", {**values, "price": price})
    walk.rest("PATCH", f"workers/{worker['id']}/", {"description": "Walks."})
    walk.rest("POST", f"workers/{worker['id']}/test/")
    planner = {"name": "planner", "model": "sim-conductor", **at}
    conductor = walk.rest("POST", "conductors/", planner)
    walk.rest("PATCH", f"conductors/{conductor['id']}/", {"model": "sim-conductor-2"})
    walk.rest("POST", f"conductors/{conductor['id']}/test/")
    wanted = {
        "name": "second",
        "worker_ids": [worker["id"]],
        "fallback_id": worker["id"],
    }
    pool = walk.rest("POST", "pools/", wanted)
    walk.rest("PATCH", f"pools/{pool['id']}/", {"name": "renamed"})
    walk.rest("PATCH", f"workers/{worker['id']}/", {"description": "Runs."})
    walk.rest("DELETE", f"pools/{pool['id']}/")
    walk.rest("DELETE", f"workers/{worker['id']}/")
    walk.rest("DELETE", f"conductors/{conductor['id']}/")
    walk.rest("DELETE", f"credentials/{credential['id']}/")
    limit = {"period": "month", "limit_usd": "10.00"}
    limit |= {"kind": "member", "user_id": str(cast.bob.id)}
    budget = walk.rest("POST", "budgets/", limit)
    walk.rest("PATCH", f"budgets/{budget['id']}/", {"limit_usd": "20.00"})
    walk.rest("DELETE", f"budgets/{budget['id']}/")


def rate(walk: Walk, run_id: str) -> None:
    """Rate a run once it has ended, and take the rating back."""
    assert eventually(lambda: walk.rest("GET", f"runs/{run_id}/")["state"] != "running")
    walk.rest("POST", f"runs/{run_id}/feedback/", {"rating": "up"})
    walk.rest("DELETE", f"runs/{run_id}/feedback/")


def review(walk: Walk, cast: Cast, run_id: str) -> None:
    """Send a run to review and do all that a reviewer can."""
    walk.page(cast.alice, "/review/settings/", version="0", failures="on")
    item = walk.rest("POST", "reviews/", {"run_id": run_id})
    rita = UserFactory.create(email="rita@example.org", name="Rita")
    MembershipFactory.create(team=cast.team, user=rita, role="reviewer")
    at = f"/review/{item['id']}"
    walk.page(rita, f"{at}/reservation/")
    walk.page(rita, f"{at}/reservation/", release="1")
    walk.page(rita, f"{at}/reservation/")
    walk.page(rita, f"{at}/verdict/", verdict="pass")
    walk.page(rita, f"{at}/again/", reason="A drill")
    walk.page(rita, f"{at}/comments/", text="Well.")


def decide(walk: Walk, cast: Cast) -> None:
    """Hold plans until alice has edited one and refused another."""
    rule = {"name": "Hold", "words": "escrow", "mode": "enforce"}
    walk.page(
        cast.alice, "/policy/rules/new/", effect="require_approval", version="1", **rule
    )
    for verdict in ("approve", "refuse"):
        walk.page(cast.bob, "/playground/runs/", tier="mini", prompt="Why escrow?")
        row = awaited(lambda: waiting_approval(cast))
        found = pending_plan(cast.team.id, row.run_id)
        steps = [{"worker": found.workers[0], "subtask": "Else.", "access": []}]
        walk.page(
            cast.alice,
            f"/runs/{row.run_id}/approval/decide/",
            plan_digest=row.plan_digest,
            plan=orjson.dumps({"steps": steps}).decode(),
            verdict=verdict,
            reason="A drill",
        )
        assert eventually(lambda: waiting_approval(cast) is None)


def waiting_approval(cast: Cast) -> PlanApproval | None:
    rows = PlanApproval.objects.for_team(cast.team.id)
    return rows.filter(settled_at=None).first()


def stop_all(walk: Walk, cast: Cast) -> None:
    """Last of all: for a second no run can start."""
    walk.page(cast.alice, "/team/stop/", reason="A drill")
    walk.page(cast.alice, "/team/allow/")


def run_and_stop(walk: Walk, cast: Cast) -> None:
    asked = {"model": "conductor-mini", "prompt": "What is 6 times 7?"}
    run = walk.rest("POST", "runs/", asked)
    rate(walk, run["id"])
    review(walk, cast, run["id"])
    walk.page(cast.alice, f"/runs/{run['id']}/bundle/")
    walk.page(cast.bob, f"/runs/{run['id']}/tags/", tags="checked")
    walk.page(cast.alice, "/runs/export/", format="csv")
    walk.rest("POST", f"runs/{run['id']}/rerun/")
    walk.page(cast.bob, "/playground/runs/", tier="mini", prompt="Why?")
    walk.v1(
        "POST",
        "chat/completions",
        json={
            "model": "conductor-mini",
            "messages": [{"role": "user", "content": "Why?"}],
        },
    )
    slow = {"model": f"worker/{SLOW}", "prompt": "Wait."}
    waiting = walk.rest("POST", "runs/", slow)
    assert walk.rest("POST", f"runs/{waiting['id']}/cancel/") == {"is_stopped": True}


def batch_and_files(walk: Walk) -> None:
    body = {"model": "worker/nobody", "messages": [{"role": "user", "content": "?"}]}
    line = {
        "custom_id": "a",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body,
    }
    content = ("requests.jsonl", json.dumps(line).encode())
    options = {"files": {"file": content}, "data": {"purpose": "batch"}}
    file, other = (walk.v1("POST", "files", **options) for _ in range(2))
    wanted = {
        "input_file_id": file["id"],
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
    }
    batch = walk.v1("POST", "batches", json=wanted)
    walk.v1("POST", f"batches/{batch['id']}/cancel")
    walk.v1("DELETE", f"files/{other['id']}")


def verify_the_ledger(walk: Walk, cast: Cast) -> None:
    """A process does it in the background, in the name of who asked for it."""
    walk.page(cast.alice, "/ledger/check/")
    row = FullCheck.objects.for_team(cast.team.id)
    assert eventually(lambda: row.filter(state=JobState.DONE).exists())


def export_the_ledger(walk: Walk, cast: Cast) -> None:
    """A process makes the file in the background, as for the verification."""
    walk.page(cast.alice, "/ledger/exports/", format="csv")
    rows = LedgerExport.objects.for_team(cast.team.id)
    assert eventually(lambda: rows.exclude(sha256="").exists())
    export = rows.get()
    for action in ("file", "delete"):
        walk.page(cast.alice, f"/ledger/exports/{export.id}/{action}/")


def evaluate(walk: Walk) -> None:
    """Import a suite, start an evaluation and cancel it."""
    suite = walk.rest("POST", "suites/", {"name": "basics", "tasks": documents()})
    systems = [{"kind": "worker", "worker": SLOW}]
    pool = walk.rest("GET", "pools/")["data"][0]["name"]
    wanted = {"suite": "basics", "settings": {"pool": pool, "systems": systems}}
    started = walk.rest("POST", "evaluations/", wanted)
    place = f"evaluations/{started['id']}/"
    walk.rest("POST", f"{place}cancel/")
    assert eventually(lambda: walk.rest("GET", place)["state"] == "cancelled")
    walk.rest("DELETE", f"suites/{suite['id']}/")
    shadow_test(walk, pool)
    ab_test(walk, pool)


def learn(walk: Walk, cast: Cast) -> None:
    """Consent, export, train, cancel that, and use a version that was fitted before."""
    walk.page(cast.alice, "/learning/", learns_from_requests="on")
    walk.page(cast.alice, "/learning/export/")
    walk.rest("GET", "learning/subtasks/")
    pool = walk.rest("GET", "pools/")["data"][0]["id"]
    walk.rest("PATCH", f"pools/{pool}/", {"tiers": {"ultra": {"max_steps": 5}}})
    tasks = [{**task, "split": "training"} for task in documents()[1:]]
    suite = {"name": "lessons", "tasks": [documents()[0], *tasks]}
    walk.rest("POST", "suites/", suite)
    started = walk.rest("POST", "learning/trainings/", {"suite": "lessons"})
    place = f"learning/trainings/{started['id']}/"
    walk.rest("POST", f"{place}cancel/")
    assert eventually(lambda: walk.rest("GET", place)["state"] == "cancelled")
    add_planner(access_pool(cast.team.id, UUID(pool)))
    use = {"version": 1, "tiers": ["mini"], "reason": "To see it."}
    walk.rest("PUT", f"learning/pools/{pool}/planner/", use)
    version = planner_version(access_pool(cast.team.id, UUID(pool)), 1)
    promise = add_broken_promise(version, "sim-birch")
    walk.page(cast.alice, f"/learning/promises/{promise.id}/dismiss/")
    train_a_conductor(walk, pool)
    walk.rest("DELETE", f"learning/pools/{pool}/planner/")


def train_a_conductor(walk: Walk, pool: str) -> None:
    """Train one for a suite of sums, publish and use it, and delete it again."""
    trainings = "learning/conductors/trainings/"
    wanted = {"suite": "lessons", "settings": {**SMALL, "sub_pools": "fixed"}}
    started = walk.rest("POST", trainings, wanted)
    place = f"{trainings}{started['id']}/"
    assert eventually(lambda: walk.rest("GET", place)["stage"] == "serve")
    walk.rest("POST", f"{place}cancel/")
    assert eventually(lambda: walk.rest("GET", place)["state"] == "cancelled")
    before = walk.rest("GET", f"pools/{pool}/")["conductor_id"]
    version = "learning/conductors/1/"
    walk.rest("PUT", f"{version}publish/", {"base_url": walk.site.simulator_url})
    walk.rest("PUT", f"{version}use/", {"reason": "To see it."})
    walk.rest("PATCH", f"pools/{pool}/", {"conductor_id": before})
    walk.rest("DELETE", version)


def ab_test(walk: Walk, pool: str) -> None:
    """Start an A/B test, promote its candidate, which ends it, and take that back."""
    settings = {
        "name": "Ultra for some",
        "pool": pool,
        "tier": "mini",
        "candidate": {"kind": "tier", "tier": "ultra"},
    }
    started = walk.rest("POST", "ab-tests/", {"settings": settings})
    place = f"ab-tests/{started['id']}/"
    walk.rest("PUT", f"{place}promotion/")
    walk.rest("DELETE", f"{place}promotion/")
    again = walk.rest("POST", "ab-tests/", {"settings": settings})
    walk.rest("POST", f"ab-tests/{again['id']}/stop/")


def shadow_test(walk: Walk, pool: str) -> None:
    """Start a shadow test, promote its candidate, take that back, and stop it."""
    settings = {
        "name": "Ultra for mini",
        "pool": pool,
        "tier": "mini",
        "candidate": {"kind": "tier", "tier": "ultra"},
        "max_cost_micros": 1_000_000,
    }
    started = walk.rest("POST", "shadow-tests/", {"settings": settings})
    place = f"shadow-tests/{started['id']}/"
    test = ShadowTest.objects.across_teams().get(id=started["id"])
    pairs_add(test, FEWEST_PAIRS)
    walk.rest("PUT", f"{place}promotion/")
    walk.rest("DELETE", f"{place}promotion/")
    walk.rest("POST", f"{place}stop/")
    assert eventually(lambda: walk.rest("GET", place)["state"] == "stopped")


def manage_webhooks(walk: Walk, cast: Cast) -> None:
    """Add a webhook, test and change it, send its event again, delete it."""
    walk.page(
        cast.alice,
        "/webhooks/new/",
        name="Chat",
        kind="events",
        event_types="run.ended",
        url="https://receiver.example/hooks",
    )
    webhook = Webhook.objects.for_team(cast.team.id).get()
    place = f"/webhooks/{webhook.id}/"
    walk.page(cast.alice, f"{place}test/")
    deliveries = WebhookDelivery.objects.for_team(cast.team.id)
    assert eventually(lambda: deliveries.exists())
    walk.page(cast.alice, f"{place}deliveries/{deliveries.get().id}/resend/")
    walk.page(cast.alice, f"{place}secret/")
    walk.page(cast.alice, f"{place}switch/", enable="no")
    walk.page(cast.alice, f"{place}delete/")


def manage_alerts(walk: Walk, cast: Cast) -> None:
    """Change a rule, send a test, acknowledge and mute an alert."""
    walk.page(cast.alice, "/alerts/rules/ledger/", audience="owners")
    walk.page(cast.alice, "/alerts/test/", channel="bell")
    alert = Alert.objects.for_team(cast.team.id).get()
    walk.page(cast.alice, f"/alerts/{alert.id}/acknowledge/")
    walk.page(cast.alice, f"/alerts/{alert.id}/mute/", minutes="60")


def test_every_entry_that_a_request_causes_says_by_which(
    walk: Walk, site: Site, settings: Any, tmp_path: Path
) -> None:
    settings.SIGN_UP = "open"
    trains_here(settings, tmp_path / "trainings")
    cast = site.cast
    change_the_team(walk, cast)
    change_the_pool(walk, cast)
    run_and_stop(walk, cast)
    batch_and_files(walk)
    evaluate(walk)
    learn(walk, cast)
    decide(walk, cast)
    stop_all(walk, cast)
    verify_the_ledger(walk, cast)
    export_the_ledger(walk, cast)
    manage_webhooks(walk, cast)
    manage_alerts(walk, cast)
    MembershipFactory.create(team=cast.other_team, user=cast.alice, role="owner")
    walk.page(cast.mallory, "/team/delete/", confirmation="others")
    teams = [*Team.objects.all(), cast.team, cast.other_team]
    entries = entries_of_requests(*teams)
    for entry in entries:
        context = entry["context"]
        assert context["request_id"] in walk.sent, entry
        assert (context["address"], context["user_agent"]) == ("127.0.0.1", AGENT)
    missing = actions_in_source() - {entry["action"] for entry in entries}
    assert missing == set(BY_NO_REQUEST)
