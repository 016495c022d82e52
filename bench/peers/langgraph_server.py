"""The same three steps in LangGraph, over HTTP, in one process.

Plan, two workers at once, an aggregator. Every step is checkpointed to SQLite before
the next one begins (`durability="sync"`), models are called over httpx with the aiohttp
transport, uvicorn runs with uvloop and httptools: as the product does.
"""

from __future__ import annotations

import argparse
import operator
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypedDict

import httpx
import orjson
import uvicorn
from httpx_aiohttp import AiohttpTransport
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

MAX_CONNECTIONS = 2000


class State(TypedDict):
    """What the steps share."""

    question: str
    plan: str
    answers: Annotated[list[str], operator.add]
    answer: str


class Models:
    """Calls the model server."""

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/chat/completions"
        limits = httpx.Limits(max_connections=MAX_CONNECTIONS)
        self.client = httpx.AsyncClient(
            transport=AiohttpTransport(limits=limits), timeout=60
        )

    async def ask(self, model: str, *texts: str) -> str:
        """Return what `model` answers."""
        messages = [{"role": "user", "content": text} for text in texts]
        body = orjson.dumps({"model": model, "messages": messages})
        headers = {"content-type": "application/json"}
        reply = await self.client.post(self._url, content=body, headers=headers)
        reply.raise_for_status()
        return str(orjson.loads(reply.content)["choices"][0]["message"]["content"])


def build_graph(models: Models) -> StateGraph[State]:
    """Return the graph of one run."""

    async def plan(state: State) -> dict[str, Any]:
        return {"plan": await models.ask("plan-50", state["question"])}

    async def first(state: State) -> dict[str, Any]:
        return {"answers": [await models.ask("delay-100", state["question"])]}

    async def second(state: State) -> dict[str, Any]:
        return {"answers": [await models.ask("delay-100", state["question"])]}

    async def combine(state: State) -> dict[str, Any]:
        texts = (state["question"], *state["answers"])
        return {"answer": await models.ask("delay-100", *texts)}

    graph = StateGraph(State)
    for node in (plan, first, second, combine):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "first")
    graph.add_edge("plan", "second")
    graph.add_edge(["first", "second"], "combine")
    graph.add_edge("combine", END)
    return graph


def create_app(base_url: str, database: str) -> Starlette:
    """Return the application."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        models = Models(base_url)
        async with AsyncSqliteSaver.from_conn_string(database) as saver:
            await saver.setup()
            app.state.graph = build_graph(models).compile(checkpointer=saver)
            yield
        await models.client.aclose()

    async def complete(request: Request) -> Response:
        asked = orjson.loads(await request.body())
        thread = str(uuid.uuid4())
        ended = await request.app.state.graph.ainvoke(
            {"question": asked["messages"][-1]["content"], "answers": []},
            {"configurable": {"thread_id": thread}},
            durability="sync",
        )
        message = {"role": "assistant", "content": ended["answer"]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": thread, "object": "chat.completion", "choices": [choice]}
        return Response(orjson.dumps(body), media_type="application/json")

    return Starlette(
        routes=[Route("/v1/chat/completions", complete, methods=["POST"])],
        lifespan=lifespan,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True)
    parser.add_argument("--database", required=True)
    args = parser.parse_args()
    uvicorn.run(
        create_app(args.upstream, args.database),
        host="127.0.0.1",
        port=args.port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )
