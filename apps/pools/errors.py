"""Errors of pools. An admin of the team must act on each."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.errors import ConductorError, InvalidInput


class PoolUnusable(ConductorError):
    """A pool cannot run as it is set up."""

    code = "pool_unusable"
    http_status = 422


class CredentialMismatch(ConductorError):
    """A credential would be sent to an origin it is not bound to."""

    code = "credential_host_mismatch"
    http_status = 422


class ProviderFailed(ConductorError):
    """The server at an address that was given did not answer as a provider does."""

    code = "provider_failed"
    http_status = 422

    def __init__(self, message: str, *, fault: str) -> None:
        super().__init__(message, param="base_url")
        self.fault = fault
        """A word of `apps.llm.errors`."""


class TooManyModelCalls(ConductorError):
    """A team has as many tests, model lists and server looks under way as it may."""

    code = "too_many_model_calls"
    http_status = 429


class PoolDocumentInvalid(InvalidInput):
    """A pool file breaks a rule. Each fault names the path and never quotes a value."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class PriceListInvalid(ConductorError):
    """A document is no list of prices that could be used; says why, quotes nothing."""

    code = "price_list_invalid"
    http_status = 422
