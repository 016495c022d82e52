"""Serves the tiny conductor: answers are sent while they are made.

Computing has a thread of its own, one step at a time, so that the other models answer
meanwhile and answers that are made at the same time take turns.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from apps.simulator.connection import EVENT_STREAM
from apps.simulator.exchange import STREAM_HEADERS, SimulatedExchange
from apps.simulator.reply import TokenPart
from apps.simulator.request import SimulatedRequest
from apps.simulator.tiny_conductor.errors import RequestRefused

if TYPE_CHECKING:
    from apps.simulator.tiny_conductor.generation import Generation, LanguageModel

SHIPPED = Path(__file__).with_name("weights.safetensors")
"""Trained on the simulated benchmark; see `docs/training.md`."""


class TinyConductor:
    """The model as the simulator serves it; loaded when it is first asked."""

    name = "tiny-conductor"

    def __init__(self, weights: Path = SHIPPED) -> None:
        self._weights = weights
        self._model: LanguageModel | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=self.name)

    async def answer(self, exchange: SimulatedExchange) -> None:
        """Answer a request with what the weights say."""
        run = asyncio.get_running_loop().run_in_executor
        try:
            generation = await run(self._thread, self._begin, exchange.request)
        except RequestRefused as exc:
            await exchange.refuse(exc.problem)
            return
        connection, framing = exchange.connection, exchange.framing
        is_streamed = exchange.request.is_streamed
        if is_streamed:
            await connection.start(200, EVENT_STREAM, *STREAM_HEADERS)
            await connection.write(framing.opening(generation.usage))
        while not generation.is_done:
            piece = await run(self._thread, generation.step)
            await connection.pause(0)  # nobody may be reading any more
            if is_streamed and piece:
                await connection.write(framing.frame(TokenPart("text", piece)))
        reply, usage = generation.reply, generation.usage
        if is_streamed:
            await connection.write(framing.closing(reply, usage), is_last=True)
        else:
            await connection.respond(200, framing.whole(reply, usage))

    def _begin(self, request: SimulatedRequest) -> Generation:
        """Begin an answer; in the thread, for it loads the model if nobody has."""
        from apps.simulator.tiny_conductor.generation import Generation, LanguageModel

        if self._model is None:
            self._model = LanguageModel.load(self._weights)
        return Generation(self._model, request)
