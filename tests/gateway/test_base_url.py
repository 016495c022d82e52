"""D11: a client whose base URL lacks `/v1` gets an error it can read."""

from __future__ import annotations

import httpx
import openai
import pytest

from tests.conftest import Site


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/chat/completions"),
        ("POST", "/completions"),
        ("POST", "/responses"),
        ("GET", "/responses/resp_1"),
        ("POST", "/embeddings"),
        ("POST", "/messages"),
        ("POST", "/messages/count_tokens"),
        ("GET", "/models"),
        ("GET", "/models/conductor-mini"),
        ("GET", "/models/"),
    ],
)
def test_the_answer_is_json_and_says_what_lacks(
    site: Site, method: str, path: str
) -> None:
    answer = httpx.request(method, f"{site.url}{path}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "not_found")
    assert "add /v1 to the base URL" in error["message"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("//v1/chat/completions", "two slashes"),
        ("/v1//chat/completions", "two slashes"),
        ("//chat/completions", "two slashes"),
        ("/v1/v1/chat/completions", "its base URL has none"),
        ("/openai/deployments/m/chat/completions", "Azure"),
        ("/openai/v1/responses", "Azure"),
        ("/v1beta/models/m:generateContent", "Gemini"),
        ("/api/chat", "Ollama"),
        ("/api/tags/", "Ollama"),
        ("/mcp", "MCP"),
    ],
)
def test_c9_other_servers_paths_are_explained(site: Site, path: str, hint: str) -> None:
    answer = httpx.post(f"{site.url}{path}", params={"api-version": "2024-10-21"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "not_found")
    assert hint in error["message"]


def test_the_openai_package_tells_it(site: Site) -> None:
    client = openai.OpenAI(base_url=site.url, api_key=site.key, max_retries=0)
    with pytest.raises(openai.NotFoundError, match="add /v1 to the base URL"):
        client.chat.completions.create(
            model="conductor-mini", messages=[{"role": "user", "content": "Hi"}]
        )


@pytest.mark.parametrize("path", ["/nowhere/", "/modelsx", "/"])
def test_pages_stay_pages(site: Site, path: str) -> None:
    answer = httpx.get(f"{site.url}{path}", follow_redirects=True)
    assert answer.headers["content-type"].startswith("text/html")
