"""Reading what `/metrics` says."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(site_url: str, **headers: str) -> Samples:
    """Return every sample by its name and sorted labels."""
    answer = httpx.get(f"{site_url}/metrics", headers=headers, timeout=10)
    assert answer.status_code == 200, answer.text
    return samples_of(answer.text)


def samples_of(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((f"conductor_{name}", tuple(sorted(labels.items()))), 0.0)


class Growth:
    """How much samples have grown between two looks: counters never start anew."""

    def __init__(self, site_url: str) -> None:
        self._url = site_url
        self._before = scraped(site_url)

    def of(self, name: str, **labels: str) -> float:
        now = scraped(self._url)
        return value(now, name, **labels) - value(self._before, name, **labels)
