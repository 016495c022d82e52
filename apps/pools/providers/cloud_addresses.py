"""Addresses of Azure OpenAI, Amazon Bedrock and Google Vertex AI.

Every resource, region or project has an address of its own, so a provider's address is
a pattern here, and what stands for the customer's own part must be replaced. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

AZURE_URL = "https://YOUR-RESOURCE.openai.azure.com/openai/v1"
"""Its v1 API: the key as a bearer token, a deployment's name as model, no version."""
BEDROCK_URL = "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1"
"""Its OpenAI-compatible endpoint, in one of many regions."""
VERTEX_URL = (
    "https://aiplatform.googleapis.com/v1/projects/YOUR-PROJECT/locations/global"
    "/endpoints/openapi"
)
"""Its OpenAI-compatible endpoint. A region is in the host too."""
_REPLACED = re.compile(r"YOUR-(?:RESOURCE|PROJECT)", re.IGNORECASE)
_HOSTS: Mapping[str, re.Pattern[str]] = {
    "azure": re.compile(
        r"(?<![a-z0-9-])[a-z0-9-]++\.(?:openai\.azure\.com|services\.ai\.azure\.com"
        r"|cognitiveservices\.azure\.com)"
    ),
    "bedrock": re.compile(
        r"bedrock-(?:runtime|mantle)(?:-fips)?\.[a-z0-9-]+\."
        r"(?:amazonaws\.com(?:\.cn)?|api\.aws)"
    ),
    "vertex": re.compile(
        r"(?:(?<![a-z0-9-])[a-z0-9-]+-)?aiplatform\.googleapis\.com"
        r"|aiplatform\.[a-z0-9-]+\.rep\.googleapis\.com"
    ),
}


def cloud_of(host: str) -> str:
    """Return the id of the provider that a host belongs to; empty: none of these."""
    found = (name for name, form in _HOSTS.items() if form.fullmatch(host))
    return next(found, "")


def placeholder_of(base_url: str) -> str:
    """Return the part of an address that is still to be replaced; empty: none is."""
    found = _REPLACED.search(base_url)
    return found[0].upper() if found else ""
