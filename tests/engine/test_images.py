"""Images of a conversation: every worker sees them, the conductor reads of them."""

from typing import Any

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.limits import Limits
from apps.engine.messages import image_digest, question_of
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Message, Messages, Pool, PoolWorker, Task
from apps.engine.suitability import suited_worker, unsuited
from apps.engine.testing import ScriptedPlanner, make_plan, make_ports, run_virtual

DATA_URL = "data:image/png;base64,iVBORw0KGgo="
IMAGES: Any = [
    {"type": "image_url", "image_url": {"url": DATA_URL}},
    {"type": "image_url", "image_url": {"url": "https://example.org/b.png"}},
]
MESSAGES: Messages = (
    {"role": "user", "content": [{"type": "text", "text": "Look: "}, IMAGES[0]]},
    {"role": "assistant", "content": "I see."},
    {"role": "user", "content": [{"type": "text", "text": "And this? "}, IMAGES[1]]},
)
TASK = Task(question_of(MESSAGES), messages=MESSAGES)
SEES = [PoolWorker(name, accepts_images=True) for name in "abd"]
POOL = Pool((*SEES, PoolWorker("blind")), "d")


def run(plan, task=TASK, pool=POOL):
    made: Any = make_ports(planner=ScriptedPlanner(*plan))
    return run_virtual(conduct(task, pool, made, Limits())), made


def rejections(ports):
    return [e for e in ports.recorder.events if isinstance(e, ev.PlanRejectedEvent)]


def test_every_worker_of_a_plan_gets_all_images_after_its_text():
    _, ports = run([make_plan(("a", ()), ("b", (0,)))])
    for call in ports.client.calls:
        [message] = call.messages
        assert message["content"][1:] == IMAGES
        assert "Look: [image 1]" in message["content"][0]["text"]


def test_a_direct_question_keeps_images_where_they_stand():
    _, ports = run([Plan((PlannedStep(TASK.prompt, "a"),))])
    assert ports.client.calls[0].messages == MESSAGES


def test_the_record_names_an_image_by_its_digest():
    _, ports = run([make_plan(("a", ()))])
    [started] = [e for e in ports.recorder.events if isinstance(e, ev.StepStarted)]
    assert DATA_URL not in started.messages
    assert image_digest(DATA_URL) in started.messages
    assert "https://example.org/b.png" in started.messages


def test_a_plan_with_any_worker_that_sees_nothing_is_rejected():
    plans = [make_plan(("blind", ()), ("a", (0,))), make_plan(("a", ()))]
    end, ports = run(plans)
    [rejected] = rejections(ports)
    assert rejected.fault == "unsuited_worker"
    assert rejected.reason == (
        "step 0: worker 'blind' takes no images, and the question has images"
    )
    assert end.action == "run.completed"


def test_without_images_anybody_may_answer():
    _, ports = run([make_plan(("blind", ()))], Task("q"))
    assert rejections(ports) == []


def test_the_plan_of_last_resort_names_a_worker_that_sees():
    pool = Pool((PoolWorker("blind"), *SEES), "blind", substitutes=("b",))
    end, ports = run([make_plan(("blind", ()))], pool=pool)
    assert len(rejections(ports)) == 3
    assert {c.worker for c in ports.client.calls} == {"b"}
    assert end.action == "run.completed"


def test_who_can_do_it_is_sought_in_the_pools_order():
    blind = PoolWorker("blind")
    one: Message = {"role": "user", "content": IMAGES}
    task = Task("[image 1]", messages=(one,))
    assert suited_worker(task, Pool((blind, *SEES), "blind"), "blind") == "a"
    assert suited_worker(task, Pool((blind, *SEES), "d"), "blind") == "d"
    assert suited_worker(task, Pool((blind, *SEES), "d"), "b") == "b"
    assert suited_worker(task, Pool((blind,), "blind"), "blind") == "blind"


def test_a_worker_is_suited_unless_there_is_a_reason():
    assert unsuited(Task("q"), PoolWorker("blind"), is_last=True) == ""
    assert unsuited(TASK, SEES[0], is_last=False) == ""
    assert "images" in unsuited(TASK, PoolWorker("blind"), is_last=False)
