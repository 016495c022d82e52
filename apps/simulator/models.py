"""Every model that answers properly: from its name to what it says.

Besides workers and conductors, those of the use cases among them, there are models for
exact tests and benchmarks: `echo`, `instant`, `delay-<ms>`, `tokens-<n>-<per_s>`,
`scripted`, `scripted-<per_s>`, `scripted-conductor`, `thinker` (thinks aloud before it
answers, and finds half of the prompt in a cache), `filtered` (the provider holds back
the rest) and `refuser` (it declines). All of them go on from an answer that has begun,
only `forgetful` begins anew; workers also call tools, look at images and judge answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from apps.simulator import (
    briefing,
    conductor,
    conductor_prompt,
    judging,
    looking,
    tools,
)
from apps.simulator.answers import SimulatedAnswer, answer, signed
from apps.simulator.benchmark.answers import bench_answer
from apps.simulator.benchmark.forms import FORMS
from apps.simulator.benchmark.planning import planned
from apps.simulator.benchmark.tasks import recognise
from apps.simulator.benchmark.workers import (
    BENCH_BY_NAME,
    BenchWorker,
)
from apps.simulator.briefing import Briefing
from apps.simulator.cases.catalog import CASE_CONDUCTORS, CASE_WORKERS
from apps.simulator.chance import draw
from apps.simulator.conductor import PlanDraft, Shape, SimulatedStep
from apps.simulator.continuation import continued
from apps.simulator.families.solution import Family
from apps.simulator.follow_ups import meant
from apps.simulator.reply import SimulatedReply, cut, reply
from apps.simulator.request import SimulatedRequest
from apps.simulator.structured import as_json
from apps.simulator.workers import BY_NAME, SimulatedWorker

Model = Callable[[SimulatedRequest, int], SimulatedReply]
"""Takes the request and the seed."""

CONDUCTOR_FIRST_TOKEN_S = 0.2
CONDUCTOR_TOKENS_PER_S = 300.0
LONG_PLAN_STEPS = 50
MAX_TOKENS = 200_000
"""Most tokens `tokens-<n>-<per_s>` sends."""
MAX_DELAY_MS = 3_600_000

DELAY = re.compile(r"delay-(\d{1,7})")
SCRIPTED = re.compile(r"scripted-(\d{1,6})")
TOKENS = re.compile(r"tokens-(\d{1,6})-(\d{1,6})")
SCRIPTED_PLAN = re.compile(r"<<plan\b[ \t]*+\n?((?:(?!<<plan\b|>>).)*+)>>", re.DOTALL)
SAY = re.compile(r"\[\[say ((?:(?!\[\[say |\]\]).)*+)\]\]", re.DOTALL)
PERFECT = SimulatedWorker(
    name="without-a-name",
    description="Always right and never slow; plays the models with faults.",
    tokens_per_s=0,
    first_token_ms=0,
    input_micros=0,
    output_micros=0,
    reliability=dict.fromkeys(Family, 1.0),
)


def find(name: str) -> Model | None:
    """Return the model called `name`, or None if there is none."""
    if model := FIXED.get(name):
        return model
    if worker := BY_NAME.get(name):
        return lambda request, seed: work(worker, request, seed)
    if bench_worker := BENCH_BY_NAME.get(name) or CASE_WORKERS.get(name):
        return lambda request, seed: _work_on_bench(bench_worker, request, seed)
    if case := CASE_CONDUCTORS.get(name):
        return lambda request, seed: _conduct(request, seed, case.shaped)
    if match := DELAY.fullmatch(name):
        seconds = min(int(match[1]), MAX_DELAY_MS) / 1000
        return lambda _request, _seed: SimulatedReply(("ok",), first_token_s=seconds)
    if match := SCRIPTED.fullmatch(name):
        pace = float(match[1])
        return lambda request, seed: replace(
            _scripted(request, seed), tokens_per_s=pace
        )
    if match := TOKENS.fullmatch(name):
        count, rate = min(int(match[1]), MAX_TOKENS), float(match[2])
        return lambda _request, _seed: _counting(count, rate)
    return None


def ask(model: Model, request: SimulatedRequest, seed: int) -> SimulatedReply:
    """Return what `model` replies, from where the answer has begun."""
    whole = model(request, seed)
    if not request.begun or model is _forgetful:
        return whole
    return continued(whole, request.begun)


def answer_well(request: SimulatedRequest, seed: int) -> SimulatedReply:
    """Return what a model with a fault replies where it has none."""
    return ask(_perfect, request, seed)


def work(
    worker: SimulatedWorker, request: SimulatedRequest, seed: int
) -> SimulatedReply:
    """Return what a simulated worker replies; it plans like the conductor."""
    if conductor_prompt.asks_for_plan(request):
        draft = conductor.plan(conductor_prompt.read(request), seed)
        return _as_planner(worker, draft, request, seed)
    text = request.last_user_text
    if judged := judging.judgement(text):
        return _as_judge(worker, judged, text, seed)
    told = briefing.read(text)
    answered = _answered(worker, told, request, seed)
    calls = tools.wanted(request, told.part, told.asking, answered.short)
    shown = "" if calls else _shown(worker.name, answered, request)
    return SimulatedReply(
        cut(shown),
        first_token_s=_first_token_s(worker, text, seed),
        tokens_per_s=worker.tokens_per_s,
        finish_reason="tool_calls" if calls else "stop",
        calls=calls,
    )


def _work_on_bench(
    worker: BenchWorker, request: SimulatedRequest, seed: int
) -> SimulatedReply:
    """Return what a worker with hidden skills replies.

    It calls no tools for the tasks of its benchmark. To other questions it replies as a
    worker without hidden skills does, if it knows any.
    """
    if conductor_prompt.asks_for_plan(request):
        task = conductor_prompt.read(request)
        if everyday := _everyday(worker, task.question):
            return work(everyday, request, seed)
        return _as_planner(worker, planned(worker, task, seed), request, seed)
    text = request.last_user_text
    if judged := judging.judgement(text, (*worker.forms, *FORMS)):
        return _as_judge(worker, judged, text, seed)
    read = briefing.read(text)
    followed_up = _followed_up(worker, read, request, seed)
    if followed_up is None and (everyday := _everyday(worker, read.part)):
        return work(everyday, request, seed)
    answered = followed_up or bench_answer(worker, read, seed, request.begun)
    return SimulatedReply(
        cut(_shown(worker.name, answered, request)),
        first_token_s=_first_token_s(worker, text, seed),
        tokens_per_s=worker.tokens_per_s,
    )


def _followed_up(
    worker: BenchWorker, read: Briefing, request: SimulatedRequest, seed: int
) -> SimulatedAnswer | None:
    """Return the answer, with its method, to a task that the last turn stands for."""
    for question in meant(read.question):
        if task := recognise(question, worker.forms):
            again = replace(read, question=question)
            answered = bench_answer(worker, again, seed, request.begun)
            text = f"{answered.text}\n\nHow it is done: {task.method}"
            return replace(answered, text=text)
    return None


def _everyday(worker: BenchWorker, question: str) -> SimulatedWorker | None:
    """Return who answers a question that is no task of the worker's benchmark."""
    is_task = recognise(question, worker.forms) is not None
    return None if is_task else worker.for_everyday


def _as_planner(
    worker: SimulatedWorker | BenchWorker,
    draft: PlanDraft,
    request: SimulatedRequest,
    seed: int,
) -> SimulatedReply:
    return SimulatedReply(
        cut(conductor.as_lists(draft)),
        first_token_s=_first_token_s(worker, request.last_user_text, seed),
        tokens_per_s=worker.tokens_per_s,
    )


def _as_judge(
    worker: SimulatedWorker | BenchWorker, judged: str, text: str, seed: int
) -> SimulatedReply:
    return SimulatedReply(
        cut(judged),
        first_token_s=_first_token_s(worker, text, seed),
        tokens_per_s=worker.tokens_per_s,
    )


def _first_token_s(
    worker: SimulatedWorker | BenchWorker, text: str, seed: int
) -> float:
    jitter = 0.8 + 0.4 * draw(seed, "first token", worker.name, text)
    return worker.first_token_ms / 1000 * jitter


def _asked(told: Briefing) -> str:
    return f"{told.part}\n{told.subtask}" if told.subtask else told.part


def _answered(
    worker: SimulatedWorker, told: Briefing, request: SimulatedRequest, seed: int
) -> SimulatedAnswer:
    found = tools.from_results(request) or looking.look(request.pictures, _asked(told))
    return found or answer(worker, told, seed, request.begun)


def _shown(name: str, answered: SimulatedAnswer, request: SimulatedRequest) -> str:
    if request.format == "text":
        return signed(answered, name)
    source = f"simulated worker {name}"
    return as_json(answered.short or answered.text, source, request.schema)


# --- conductors -----------------------------------------------------------------------


def _conduct(
    request: SimulatedRequest, seed: int, shape: Shape | None = None
) -> SimulatedReply:
    task = conductor_prompt.read(request)
    return _written(conductor.plan(task, seed, shape), request)


def _written(draft: PlanDraft, request: SimulatedRequest) -> SimulatedReply:
    is_json = request.format == "json_schema"
    write = conductor.as_json if is_json else conductor.as_lists
    return _planned(write(draft))


def _planned(text: str) -> SimulatedReply:
    return reply(
        text,
        first_token_s=CONDUCTOR_FIRST_TOKEN_S,
        tokens_per_s=CONDUCTOR_TOKENS_PER_S,
    )


def _prose(_request: SimulatedRequest, _seed: int) -> SimulatedReply:
    return _planned(
        "This is an interesting question. Several models could look at it from "
        "different sides, and in the end one would bring their views together."
    )


def _forward(request: SimulatedRequest, _seed: int) -> SimulatedReply:
    steps = (
        SimulatedStep(0, "Use what comes later.", (1,)),
        SimulatedStep(0, "Answer the question."),
    )
    return _written(PlanDraft("The first step reads the second one.", steps), request)


def _unknown_model(request: SimulatedRequest, _seed: int) -> SimulatedReply:
    listed = conductor_prompt.read(request).models
    beyond = max(model.id for model in listed) + 90
    steps = (SimulatedStep(beyond, "Answer the question."),)
    return _written(PlanDraft("A model that is not in the list.", steps), request)


def _long(request: SimulatedRequest, _seed: int) -> SimulatedReply:
    steps = tuple(SimulatedStep(0, f"Part {n}.") for n in range(LONG_PLAN_STEPS))
    return _written(PlanDraft("Many small steps.", steps), request)


def _once_bad(request: SimulatedRequest, seed: int) -> SimulatedReply:
    if conductor_prompt.read(request).rejections:
        return _conduct(request, seed)
    return _planned("model_id = [0, \nsubtasks = Answer\naccess_list = none of them")


def _scripted_conductor(request: SimulatedRequest, _seed: int) -> SimulatedReply:
    """Return the plan block in the question; the nth of several on the nth attempt."""
    task = conductor_prompt.read(request)
    blocks = SCRIPTED_PLAN.findall(task.question)
    if not blocks:
        return reply("There is no plan block in the question.")
    return reply(blocks[min(task.rounds + task.rejections, len(blocks) - 1)].strip())


# --- exact workers --------------------------------------------------------------------


def _spelled_out(request: SimulatedRequest) -> SimulatedReply | None:
    """Return what the subtask or question spells out, `[[say …]]`, `[[call …]]`."""
    text = request.last_user_text
    text = briefing.read(text).subtask or text
    said = SAY.search(text)
    calls = tools.scripted(text)
    if said is None and not calls:
        return None
    if calls and request.results:
        return reply("; ".join(result for _, result in request.results))
    spoken = reply(said[1] if said else "")
    return replace(spoken, calls=calls, finish_reason="tool_calls") if calls else spoken


def _scripted(request: SimulatedRequest, _seed: int) -> SimulatedReply:
    return _spelled_out(request) or reply("There is nothing to say in the subtask.")


def _perfect(request: SimulatedRequest, seed: int) -> SimulatedReply:
    """Return what is spelled out, else what is right, under the model's own name."""
    worker = replace(PERFECT, name=request.model)
    return _spelled_out(request) or work(worker, request, seed)


def _thinker(request: SimulatedRequest, seed: int) -> SimulatedReply:
    thoughts = cut("Let me see. The question is short, so a short answer will do.")
    return replace(_perfect(request, seed), reasoning=thoughts, cached_share=0.5)


def _forgetful(request: SimulatedRequest, seed: int) -> SimulatedReply:
    return _perfect(replace(request, begun=""), seed)


def _refuser(_request: SimulatedRequest, _seed: int) -> SimulatedReply:
    return SimulatedReply((), refusal=cut("I'm sorry, I cannot help with that."))


def _filtered(_request: SimulatedRequest, _seed: int) -> SimulatedReply:
    return replace(reply("I was about to say"), finish_reason="filtered")


def _echo(request: SimulatedRequest, _seed: int) -> SimulatedReply:
    return reply(request.last_user_text)


_INSTANT = SimulatedReply(("ok",))


def _instant(_request: SimulatedRequest, _seed: int) -> SimulatedReply:
    return _INSTANT


def _counting(count: int, rate: float) -> SimulatedReply:
    pieces = tuple(f"{n} " for n in range(count))
    return SimulatedReply(pieces, tokens_per_s=rate)


FIXED: dict[str, Model] = {
    "sim-conductor": _conduct,
    "sim-conductor-prose": _prose,
    "sim-conductor-forward": _forward,
    "sim-conductor-unknown": _unknown_model,
    "sim-conductor-long": _long,
    "sim-conductor-once-bad": _once_bad,
    "scripted-conductor": _scripted_conductor,
    "scripted": _scripted,
    "echo": _echo,
    "instant": _instant,
    "thinker": _thinker,
    "filtered": _filtered,
    "refuser": _refuser,
    "forgetful": _forgetful,
}
NAMES = (*FIXED, *BY_NAME, *BENCH_BY_NAME, *CASE_CONDUCTORS, *CASE_WORKERS)
"""Models with a fixed name; `delay-…` and `tokens-…` stand for many."""
