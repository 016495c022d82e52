"""Text to tokens and back: a byte-level BPE, read from a `tokenizer.json`.

The chat template is the one that this site trains with. Text that people or models
wrote never becomes a control token, whatever it says.
"""

from __future__ import annotations

import codecs
import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from apps.simulator.tiny_conductor.errors import WeightsInvalid
from apps.simulator.tiny_conductor.splitting import PATTERN, words

START, END = "<|im_start|>", "<|im_end|>"
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""What `prompt` writes, in the words of a model's folder."""
REMEMBERED, LONGEST_REMEMBERED = 4_096, 64
"""Words whose tokens are kept, and their most characters."""

Pair = tuple[int, int]


class Tokenizer:
    """The tokens of one model."""

    def __init__(self, text: str) -> None:
        """Read the JSON text of a tokenizer. Raises: WeightsInvalid."""
        try:
            data = json.loads(text)
            _check_kind(data)
            self._read(data)
        except (KeyError, TypeError, ValueError) as exc:
            raise WeightsInvalid(f"the tokenizer cannot be read: {exc}") from exc
        self._remembered = lru_cache(REMEMBERED)(self._merged)

    def _read(self, data: Mapping[str, Any]) -> None:
        vocabulary: dict[str, int] = data["model"]["vocab"]
        self.special = {each["content"]: each["id"] for each in data["added_tokens"]}
        self.start, self.end = self.special[START], self.special[END]
        bytes_of = {letter: byte for byte, letter in enumerate(_letters())}
        self._bytes = {
            token: bytes(bytes_of[letter] for letter in word)
            for word, token in vocabulary.items()
            if word not in self.special
        }
        self.highest = max(vocabulary.values())
        self._first = [vocabulary[letter] for letter in _letters()]
        self._merges: dict[Pair, tuple[int, int]] = {}
        for rank, merge in enumerate(data["model"]["merges"]):
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            pair = vocabulary[left], vocabulary[right]
            self._merges[pair] = rank, vocabulary[left + right]

    def prompt(self, messages: Iterable[tuple[str, str]], begun: str = "") -> list[int]:
        """Return the tokens that ask for an answer, after which it begins.

        `messages` are roles and texts; `begun` is how the answer begins.
        """
        tokens: list[int] = []
        for role, text in messages:
            tokens += self.start, *self.encode(f"{role}\n{text}"), self.end
            tokens += self.encode("\n")
        return [*tokens, self.start, *self.encode(f"assistant\n{begun}")]

    def encode(self, text: str) -> list[int]:
        """Return the tokens of `text`, none of which is a control token."""
        tokens: list[int] = []
        for word in words(text):
            is_short = len(word) <= LONGEST_REMEMBERED
            tokens += self._remembered(word) if is_short else self._merged(word)
        return tokens

    def writer(self) -> TokenWriter:
        """Return what turns tokens into text, one after the other."""
        return TokenWriter(self._bytes)

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of `tokens`, without control tokens."""
        writer = self.writer()
        return "".join(map(writer.write, tokens)) + writer.rest()

    def _merged(self, word: str) -> tuple[int, ...]:
        """Return a word's tokens: the merge of lowest rank first, from the left."""
        line = _Line([self._first[byte] for byte in word.encode()])
        waiting: list[tuple[int, int, int]] = []

        def look(place: int) -> None:
            pair = line.pair(place)
            if pair is not None and (merge := self._merges.get(pair)):
                heapq.heappush(waiting, (merge[0], place, merge[1]))

        for place in range(len(line.tokens)):
            look(place)
        while waiting:
            rank, place, merged = heapq.heappop(waiting)
            pair = line.pair(place)
            if pair is None or self._merges.get(pair) != (rank, merged):
                continue  # a neighbour was merged in between
            line.merge(place, merged)
            look(place)
            if (before := line.before[place]) >= 0:
                look(before)
        return tuple(token for token in line.tokens if token != GONE)


GONE = -1


class _Line:
    """The tokens of a word, as a list that is linked in both directions."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens
        self.before = list(range(-1, len(tokens) - 1))
        self._after = list(range(1, len(tokens) + 1))

    def pair(self, place: int) -> Pair | None:
        """Return the token there and the next one; None if one of them is gone."""
        after = self._after[place]
        if self.tokens[place] == GONE or after >= len(self.tokens):
            return None
        return self.tokens[place], self.tokens[after]

    def merge(self, place: int, token: int) -> None:
        """Put `token` in place of the pair there."""
        gone = self._after[place]
        self.tokens[place], self.tokens[gone] = token, GONE
        after = self._after[place] = self._after[gone]
        if after < len(self.tokens):
            self.before[after] = place


class TokenWriter:
    """Turns tokens into text as they come; a character may take several."""

    def __init__(self, bytes_of: Mapping[int, bytes]) -> None:
        self._bytes = bytes_of
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, token: int) -> str:
        """Return the text that is complete with this token; none of a control token."""
        return self._decoder.decode(self._bytes.get(token, b""))

    def rest(self) -> str:
        """Return what stands for a character that was not completed."""
        return self._decoder.decode(b"", final=True)


def _check_kind(data: Mapping[str, Any]) -> None:
    """Return if the tokenizer is one of those that are read here."""
    model, before = data["model"], data["pre_tokenizer"]
    parts = before["pretokenizers"] if before["type"] == "Sequence" else [before]
    patterns = [part["pattern"]["Regex"] for part in parts if part["type"] == "Split"]
    kinds = [part["type"] for part in parts]
    options = ("dropout", "byte_fallback", "ignore_merges")
    wrong = [name for name in options if model.get(name)]
    if wrong or model["type"] != "BPE":
        raise ValueError(f"expected a plain BPE, got {model['type']} with {wrong}")
    if kinds != ["Split", "ByteLevel"] or patterns != [PATTERN]:
        raise ValueError("expected the splitting of Qwen2, on the level of bytes")
    if not all(each["special"] for each in data["added_tokens"]):
        raise ValueError("expected control tokens alone among the added ones")


def _letters() -> Iterator[str]:
    """Yield the letter that stands for each byte, in the order of bytes.

    Source: GPT-2, `bytes_to_unicode`; bytes that are no visible character of Latin-1
    have the letters from U+0100 on.
    """
    added = 0
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or byte >= 0xAE:
            yield chr(byte)
        else:
            yield chr(0x100 + added)
            added += 1
