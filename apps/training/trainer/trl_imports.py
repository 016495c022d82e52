"""What TRL imports."""

from __future__ import annotations

import importlib


def hide_vllm() -> None:
    """Keep TRL from importing vLLM where it is installed but does not sample.

    That takes longer than all else that a trainer imports. Before TRL's first import.
    """
    found = importlib.import_module("trl.import_utils")
    found.is_vllm_available = lambda min_version=None: False  # type: ignore[attr-defined]
