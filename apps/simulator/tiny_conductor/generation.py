"""One answer of the tiny conductor, made token by token: the most probable one each.

Knows no event loop: each `step` is a bounded piece of computing, of which the caller
decides when and in which thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from apps.simulator.problems import Kind, Problem
from apps.simulator.reply import FinishReason, SimulatedReply, SimulatedUsage
from apps.simulator.request import SimulatedRequest
from apps.simulator.tiny_conductor.errors import RequestRefused, WeightsInvalid
from apps.simulator.tiny_conductor.qwen2 import Qwen2, Qwen2Shape
from apps.simulator.tiny_conductor.tokenizer import Tokenizer
from apps.simulator.tiny_conductor.weights import WeightFile, read_weights

CONFIGURATION, TOKENIZER, ENDS = "config", "tokenizer", "end_tokens"
"""Texts of the weights' file: two of the model's folder, and token numbers."""
READ_AT_ONCE = 256
"""Tokens of a prompt in one step."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """What answers: the network and its tokens."""

    network: Qwen2
    tokenizer: Tokenizer
    ends: frozenset[int]
    """Tokens that end an answer."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `pack` has written. Raises: WeightsInvalid, OSError."""
        return cls.from_file(read_weights(path))

    @classmethod
    def from_file(cls, file: WeightFile) -> Self:
        """Take the contents of a file. Raises: WeightsInvalid."""
        missing = {CONFIGURATION, TOKENIZER, ENDS} - set(file.texts)
        if missing:
            raise WeightsInvalid(f"the file lacks {', '.join(sorted(missing))}")
        tokenizer = Tokenizer(file.texts[TOKENIZER])
        shape = Qwen2Shape.from_json(file.texts[CONFIGURATION])
        network = Qwen2(shape, file.tensors)
        if tokenizer.highest >= network.vocabulary:
            raise WeightsInvalid("the tokenizer has more tokens than the network")
        ends = frozenset(map(int, file.texts[ENDS].split()))
        return cls(network, tokenizer, ends | {tokenizer.end})


class Generation:
    """The answer to one request, as far as it is made."""

    def __init__(self, model: LanguageModel, request: SimulatedRequest) -> None:
        """Begin an answer. Raises: RequestRefused."""
        _check_abilities(request)
        self._model = model
        messages = ((message.role, message.text) for message in request.messages)
        self._prompt = model.tokenizer.prompt(messages, request.begun)
        context = model.network.shape.context
        if len(self._prompt) >= context:
            problem = Problem(
                Kind.CONTEXT_LENGTH,
                f"The prompt has {len(self._prompt)} tokens; {context} are the most.",
                "messages",
                found_tokens=len(self._prompt),
                most_tokens=context,
            )
            raise RequestRefused(problem)
        left = context - len(self._prompt)
        self._most = min(request.max_tokens or left, left)
        self._memory = model.network.memory(len(self._prompt) + self._most)
        self._writer = model.tokenizer.writer()
        self._text = _StoppableText(request.stop)
        self._written: list[int] = []
        self._pieces: list[str] = []
        self._finish: FinishReason | None = None

    @property
    def is_done(self) -> bool:
        """Say whether the answer is complete."""
        return self._finish is not None

    @property
    def usage(self) -> SimulatedUsage:
        """Return the tokens so far. The one that ends the answer is counted too."""
        return SimulatedUsage(len(self._prompt), len(self._written))

    @property
    def reply(self) -> SimulatedReply:
        """Return the answer so far, one piece for each step that added text."""
        return SimulatedReply(
            tuple(self._pieces),
            finish_reason=self._finish or "length",
            stop_word=self._text.stop_word,
        )

    def step(self) -> str:
        """Read a part of the prompt or write one token; return the text it adds."""
        read = self._memory.length
        given = self._prompt[read : read + READ_AT_ONCE] or self._written[-1:]
        network = self._model.network
        states = network.states(given, self._memory)
        if self._memory.length < len(self._prompt):
            return ""
        token = int(np.argmax(network.logits(states[-1])))
        self._written.append(token)
        piece = self._text.add(self._writer.write(token)) + self._ended(token)
        if piece:
            self._pieces.append(piece)
        return piece

    def _ended(self, token: int) -> str:
        """Note whether the answer ends with this token; return what is left then."""
        if self._text.stop_word:
            self._finish = "stop"
            return ""
        if token in self._model.ends:
            self._finish = "stop"
        elif len(self._written) == self._most:
            self._finish = "length"
        else:
            return ""
        return self._text.add(self._writer.rest()) + self._text.rest()


class _StoppableText:
    """Lets text through that cannot be the beginning of a stop word."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held = ""
        self.stop_word = ""

    def add(self, text: str) -> str:
        """Return the text that is certain now."""
        if self.stop_word:
            return ""
        text = self._held + text
        found = [(at, word) for word in self._stops if (at := text.find(word)) >= 0]
        if found:
            at, self.stop_word = min(found)
            self._held = ""
            return text[:at]
        held = max((_overlap(text, word) for word in self._stops), default=0)
        certain = len(text) - held
        self._held = text[certain:]
        return text[:certain]

    def rest(self) -> str:
        """Return what was held back; no more text comes."""
        return "" if self.stop_word else self._held


def _overlap(text: str, word: str) -> int:
    """Return how many characters at the end of `text` could begin `word`."""
    longest = min(len(text), len(word) - 1)
    sizes = range(longest, 0, -1)
    return next((n for n in sizes if text.endswith(word[:n])), 0)


def _check_abilities(request: SimulatedRequest) -> None:
    """Return if the request asks for text alone. Raises: RequestRefused."""
    wanted = {
        "response_format": request.format != "text",
        "tools": bool(request.tools) and request.tool_choice != "none",
        "messages": bool(request.pictures),
    }
    for param, is_wanted in wanted.items():
        if is_wanted:
            message = f"This model reads and writes text alone: leave out {param!r}."
            if param == "messages":
                message = "This model reads and writes text alone: send no images."
            raise RequestRefused(Problem(Kind.BAD_REQUEST, message, param))
