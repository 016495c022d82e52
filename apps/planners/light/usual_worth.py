"""What a right answer is worth to a planner that is fitted, if nobody says.

It is fixed with the fit: later changes of a price, or of the pool, do not move it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from apps.engine.usage import Price
from apps.planners.answer_worth import MOST_MICROS, worth_by_answers
from apps.planners.light.model import LightModel
from apps.planners.light.search import dearest_answer
from apps.planners.light.token_costs import Prices, prompt_tokens


def usual_worth(
    model: LightModel, prices: Mapping[str, Price], prompts: Iterable[str]
) -> int | None:
    """Return the worth of a right answer in micro-dollars; None: all prices are open.

    It is that of so many answers of the dearest worker to a prompt of usual length.
    """
    names = [name for name in model.workers if name in prices]
    if not names:
        return None
    ids = [model.workers.index(name) for name in names]
    tokens = model.tokens._replace(outputs=model.tokens.outputs[:, ids])
    known = [prices[name] for name in names]
    asked = Prices(
        np.array([float(price.input_micros) for price in known]),
        np.array([float(price.output_micros) for price in known]),
    )
    lengths = [prompt_tokens(prompt) for prompt in prompts]
    usual = round(sum(lengths) / len(lengths)) if lengths else 0
    worth = worth_by_answers(dearest_answer(len(ids), (tokens, asked, usual)))
    return max(1, round(min(worth, MOST_MICROS)))
