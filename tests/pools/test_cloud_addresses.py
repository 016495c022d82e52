"""Azure, Bedrock and Vertex: told by their hosts, and addressed by their customers."""

from __future__ import annotations

import pytest

from apps.core.errors import InvalidFields
from apps.pools.providers.cloud_addresses import AZURE_URL, VERTEX_URL
from apps.pools.providers.known_providers import policy_tags, provider_tag
from apps.pools.services import worker_create
from tests.factories import ACTOR, TeamFactory


@pytest.mark.parametrize(
    ("host", "provider"),
    [
        ("lab.openai.azure.com", "azure"),
        ("Lab.OpenAI.Azure.com.", "azure"),
        ("lab.services.ai.azure.com", "azure"),
        ("lab.cognitiveservices.azure.com", "azure"),
        ("bedrock-runtime.eu-central-1.amazonaws.com", "bedrock"),
        ("bedrock-runtime-fips.us-east-1.amazonaws.com", "bedrock"),
        ("bedrock-mantle.us-east-2.api.aws", "bedrock"),
        ("aiplatform.googleapis.com", "vertex"),
        ("europe-west4-aiplatform.googleapis.com", "vertex"),
        ("aiplatform.eu.rep.googleapis.com", "vertex"),
    ],
)
def test_rules_know_a_cloud_by_its_name_and_by_its_host(host, provider):
    url = f"https://{host}/v1"
    assert provider_tag(url) == f"provider:{provider}"
    own = f"provider:{host.lower().rstrip('.')}"
    assert policy_tags(["eu"], url) == {"eu", f"provider:{provider}", own}


@pytest.mark.parametrize(
    "host",
    [
        "openai.azure.com.example.org",
        "lab.openai.azure.com.example.org",
        "a.b.openai.azure.com",
        "bedrock-runtime.us-east-1.amazonaws.com.example.org",
        "notaiplatform.googleapis.com",
        "s3.us-east-1.amazonaws.com",
    ],
)
def test_other_hosts_stand_for_themselves(host):
    assert policy_tags([], f"https://{host}/v1") == {f"provider:{host}"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("url", "part"), [(AZURE_URL, "YOUR-RESOURCE"), (VERTEX_URL, "YOUR-PROJECT")]
)
def test_an_address_as_it_is_offered_is_refused(url, part):
    values = {"name": "w", "base_url": url, "model": "m"}
    with pytest.raises(InvalidFields) as caught:
        worker_create(team=TeamFactory.create(), values=values, actor=ACTOR)
    assert caught.value.fields["base_url"] == [
        f"replace {part} with the name of your own"
    ]
