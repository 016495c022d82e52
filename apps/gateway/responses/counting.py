"""`POST /v1/responses/input_tokens`: how many tokens a request would send."""

from __future__ import annotations

from django.conf import settings

from apps.accounts.rights import RUN
from apps.engine.messages import estimate_input, estimate_tools
from apps.gateway.auth import authenticate, pass_rates
from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.presets import RESPONSE, filled_body
from apps.gateway.responses.previous_response import History
from apps.gateway.responses.request import read_request


class InputTokens:
    """Counts the input of a request without starting a run.

    An estimate: which tokenizer counts depends on the workers that a plan chooses.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._history = History(backend)

    async def post(self, exchange: Exchange) -> None:
        """Answer with the number of tokens. The request counts against the rates."""
        principal = await authenticate(exchange, self._backend)
        principal.require(RUN)
        await pass_rates(exchange, principal)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        filled = await filled_body(
            parse_object(raw), RESPONSE, principal, self._backend
        )
        request = read_request(filled, needs_input=False)
        messages = await self._history.conversation(principal.key, request)
        tokens = estimate_input(messages) + estimate_tools(request.params.tools)
        await exchange.send_json(
            200, {"object": "response.input_tokens", "input_tokens": tokens}
        )
