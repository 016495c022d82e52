"""Rate limits of keys and teams: requests and tokens per minute.

A minute begins with the first request after the last one's end. A request is counted
when it comes; of its tokens the prompt, by estimate, is counted then and the rest when
the run has ended, so a minute can end up above its limit by the runs in flight, and the
next requests wait for that. Counted in this process, or in Redis if the site has one;
while Redis is away each process counts for itself, beginning at zero.

Keys without a limit, of teams without one, cost a comparison.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from django.conf import settings
from limits import RateLimitItemPerMinute
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter

from apps.accounts.models import Team
from apps.accounts.types import KeyHolder
from apps.budgets.errors import RateLimited
from apps.core.redis_outage import hasty_client, redis_outage

ResultT = TypeVar("ResultT")
REQUESTS, TOKENS = "requests", "tokens"


@dataclass(frozen=True, slots=True)
class Rate:
    """One limit: so many requests or tokens a minute for one key or team."""

    kind: str
    """REQUESTS or TOKENS."""
    owner: str
    """key or team."""
    owner_id: uuid.UUID
    per_minute: int

    @property
    def item(self) -> RateLimitItemPerMinute:
        """Return the limit as the library takes it."""
        return RateLimitItemPerMinute(self.per_minute)

    @property
    def names(self) -> tuple[str, str, str]:
        """Return what this limit is counted under."""
        return self.kind, self.owner, self.owner_id.hex


@dataclass(frozen=True, slots=True)
class RateState:
    """What is left of one limit in this minute."""

    rate: Rate
    remaining: int
    reset_s: int
    """Seconds until the minute is over."""


class TokenMeter:
    """Counts a run's tokens against the limits of who asked for it."""

    def __init__(self, rates: tuple[Rate, ...], counted: int) -> None:
        self._rates = rates
        self._counted = counted
        """Of the prompt, when the run was asked for."""

    def settle(self, used: int) -> None:
        """Count what a run has used beyond its prompt. Never blocks, never raises."""
        rest = used - self._counted
        if rest > 0:
            _without_blocking(
                lambda: _counting(lambda limiter: _count(limiter, self._rates, rest))
            )


@dataclass(frozen=True, slots=True)
class Admission:
    """What the limits say to one request."""

    states: tuple[RateState, ...] = ()
    refusal: RateLimited | None = None
    meter: TokenMeter | None = None
    """For the run, if the request starts one."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Return the standard headers: of each kind the limit with least left."""
        found: list[tuple[str, str]] = []
        for kind in (REQUESTS, TOKENS):
            states = [state for state in self.states if state.rate.kind == kind]
            if not states:
                continue
            tightest = min(states, key=lambda state: state.remaining)
            found += [
                (f"x-ratelimit-limit-{kind}", str(tightest.rate.per_minute)),
                (f"x-ratelimit-remaining-{kind}", str(tightest.remaining)),
                (f"x-ratelimit-reset-{kind}", f"{tightest.reset_s}s"),
            ]
        return found

    def require(self) -> None:
        """Raise RateLimited if the request came too soon."""
        if self.refusal is not None:
            raise self.refusal


UNLIMITED = Admission()


def is_limited(holder: KeyHolder) -> bool:
    """Say whether a key or its team has a limit."""
    return not (
        holder.requests_per_minute is None
        and holder.tokens_per_minute is None
        and holder.team_requests_per_minute is None
        and holder.team_tokens_per_minute is None
    )


def admit(holder: KeyHolder, *, prompt_tokens: int = 0) -> Admission:
    """Count a request of this key and say whether it may pass.

    `prompt_tokens` is an estimate for requests that start a run, else 0. Blocks for an
    answer of Redis if the site has one. A request that is refused counts for nothing.
    """
    if not is_limited(holder):
        return UNLIMITED
    rates = _rates(holder)
    return _counting(lambda limiter: _admit(limiter, rates, prompt_tokens))


def admit_member(team: Team, *, prompt_tokens: int = 0) -> Admission:
    """Do the same for a run that a signed-in member of this team starts."""
    requests, tokens = team.requests_per_minute, team.tokens_per_minute
    if requests is None and tokens is None:
        return UNLIMITED
    limits = ((REQUESTS, requests), (TOKENS, tokens))
    rates = [Rate(kind, "team", team.id, n) for kind, n in limits if n is not None]
    return _counting(lambda limiter: _admit(limiter, rates, prompt_tokens))


async def admit_on_loop(holder: KeyHolder, *, prompt_tokens: int = 0) -> Admission:
    """Do the same for code on an event loop: without Redis it never waits."""
    if not settings.REDIS_URL or not is_limited(holder):
        return admit(holder, prompt_tokens=prompt_tokens)
    return await asyncio.to_thread(admit, holder, prompt_tokens=prompt_tokens)


def _admit(
    limiter: FixedWindowRateLimiter, rates: list[Rate], prompt_tokens: int
) -> Admission:
    wanted = {REQUESTS: 1, TOKENS: prompt_tokens}
    full = [
        rate
        for rate in rates
        if (cost := wanted[rate.kind])
        and not limiter.test(rate.item, *rate.names, cost=cost)
    ]
    if full:
        states = tuple(_state(limiter, rate) for rate in rates)
        longest = max(
            (s for s in states if s.rate in full), key=lambda state: state.reset_s
        )
        return Admission(states, _refusal(longest, wanted[longest.rate.kind]))
    for rate in rates:
        if cost := wanted[rate.kind]:
            limiter.hit(rate.item, *rate.names, cost=cost)
    tokens = tuple(rate for rate in rates if rate.kind == TOKENS)
    meter = TokenMeter(tokens, prompt_tokens) if tokens and prompt_tokens else None
    return Admission(tuple(_state(limiter, rate) for rate in rates), None, meter)


def _refusal(state: RateState, wanted: int) -> RateLimited:
    rate = state.rate
    whose = "this API key" if rate.owner == "key" else "the team"
    if wanted > rate.per_minute:
        return RateLimited(
            f"the prompt has about {wanted} {rate.kind}; {whose} may use "
            f"{rate.per_minute} in a minute"
        )
    return RateLimited(
        f"{whose} may use {rate.per_minute} {rate.kind} in a minute, "
        f"{state.remaining} are left; try again in {state.reset_s} s",
        retry_after_s=state.reset_s,
    )


def _rates(holder: KeyHolder) -> list[Rate]:
    key, team = holder.key_id, holder.team_id
    limits = (
        (REQUESTS, "key", key, holder.requests_per_minute),
        (TOKENS, "key", key, holder.tokens_per_minute),
        (REQUESTS, "team", team, holder.team_requests_per_minute),
        (TOKENS, "team", team, holder.team_tokens_per_minute),
    )
    return [
        Rate(kind, owner, owner_id, per_minute)
        for kind, owner, owner_id, per_minute in limits
        if per_minute is not None
    ]


def _state(limiter: FixedWindowRateLimiter, rate: Rate) -> RateState:
    stats = limiter.get_window_stats(rate.item, *rate.names)
    # A minute in which nothing was counted yet has not begun.
    reset_s = max(0, min(60, round(stats.reset_time - time.time() + 0.5)))
    return RateState(rate, stats.remaining, reset_s)


def _count(
    limiter: FixedWindowRateLimiter, rates: tuple[Rate, ...], tokens: int
) -> None:
    for rate in rates:
        limiter.hit(rate.item, *rate.names, cost=tokens)


def _without_blocking(work: Callable[[], None]) -> None:
    if settings.REDIS_URL:
        asyncio.get_running_loop().run_in_executor(None, work)
    else:
        work()


def _counting(work: Callable[[FixedWindowRateLimiter], ResultT]) -> ResultT:
    """Do `work` on the counts of the site; while Redis is away, of this process."""
    if settings.REDIS_URL and not redis_outage.is_on:
        try:
            return work(_limiter_of(settings.REDIS_URL))
        except StorageError as exc:
            redis_outage.begin(exc)
    return work(_limiter_of(""))


@cache
def _limiter_of(redis_url: str) -> FixedWindowRateLimiter:
    if not redis_url:
        return FixedWindowRateLimiter(MemoryStorage())
    storage = RedisStorage(redis_url, wrap_exceptions=True, **hasty_client())
    return FixedWindowRateLimiter(storage)


def rates_clear() -> None:
    """Forget every count of this process, as a restart would."""
    _limiter_of.cache_clear()
