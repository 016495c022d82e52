"""Finds the program in what a model wrote, and joins it with what stands before it."""

from __future__ import annotations

import re
import textwrap

from apps.planners.final_answer import without_signature

BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)```[ \t]*+(?P<language>[\w+#.-]*+)[^\n]*+\n"
    r"(?P<code>.*?)(?:^[ \t]*```[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
FUTURE = re.compile(r"^from[ \t]+__future__[ \t]+import[^\n]*\n", re.MULTILINE)
PYTHON = {"python", "python3", "py", "py3"}


def answer_code(text: str) -> str:
    """Return the last block of Python in `text`.

    Without one, the last block without a language; without any block, the whole text.
    A block that is not closed goes to the end.
    """
    written = without_signature(text)
    blocks = list(BLOCK.finditer(written))
    of_python = [each for each in blocks if each["language"].lower() in PYTHON]
    chosen = of_python or [each for each in blocks if not each["language"]]
    if not chosen:
        return written
    code = chosen[-1]["code"]
    return textwrap.dedent(code) if chosen[-1]["indent"] else code


def whole_program(prefix: str, code: str, entry_point: str) -> str:
    """Return what runs: the prefix, and the code after it.

    Code that does not define `entry_point` itself continues the prefix, whose last
    function it completes.
    """
    if not prefix:
        return code
    # Nothing but a docstring may stand before them.
    future = "".join(FUTURE.findall(code))
    prefix, code = future + prefix, FUTURE.sub("", code)
    definition = rf"^(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}[ \t]*\("
    is_whole = not entry_point or re.search(definition, code, re.MULTILINE)
    return f"{prefix}\n\n{code}" if is_whole else prefix + code
