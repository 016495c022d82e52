"""Search in prompts and answers of a large team: how long a page of results takes.

100,000 runs with up to 40 different words each, of 20,000 that are used as unequally
often as words of a language; everything is indexed, so no run is read itself. Figures
are printed and not kept.
`--only PostgreSQL` for one database, `--runs N` for another size.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import struct
import time
from collections.abc import Iterator
from typing import Any

from bench.databases import EMBEDDED, PRODUCTION, child_figures, database
from bench.figures import say
from bench.lists import ask_in_process
from bench.servers import folder

RUNS = 100_000
VOCABULARY, WORDS = 20_000, 40
STEP = 32
"""Runs that a step of the index adds."""
ROWS_AT_ONCE = 8_192
ADDRESSES = {
    "two words, both in most runs": "/runs/?q=word0+word1",
    "two words, of each hundredth run": "/runs/?q=word500+word600",
    "a frequent and a rare word": "/runs/?q=word0+word15000",
    "two words that are in no run together": "/runs/?q=word19000+word19001",
    "a word that is in no run": "/runs/?q=unheard",
    "five words": "/runs/?q=word0+word1+word2+word3+word4",
    "two words, failed ones": "/runs/?q=word0+word100&state=failed&period=week",
    "REST, two words": "/api/v1/runs/?query=word0+word1",
}


def main() -> None:
    """Measure on each database."""
    args = _arguments()
    for name in [args.only] if args.only else (EMBEDDED, PRODUCTION):
        with folder() as path, database(name, path) as env:
            say(f"search on {name}: seeding {args.runs:,} runs")
            env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "ERROR"}
            child_figures(env, "bench.run_search", "--seeded", "--runs", str(args.runs))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run_search")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", choices=(EMBEDDED, PRODUCTION))
    parser.add_argument("--seeded", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# --- in the child --------------------------------------------------------------------


def measure(runs: int) -> dict[str, Any]:
    """Seed the database and ask every address."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import transaction

    from apps.accounts.models import Team
    from bench.seeding import seed_team, settle

    call_command("migrate", verbosity=0)
    owner = seed_team(runs=runs, members=10, keys=10, running=0)
    team = Team.objects.get(slug="bench")
    start = time.perf_counter()
    with transaction.atomic():
        _index(team.id)
    settle()
    took_s = time.perf_counter() - start
    say(f"  indexed in {took_s:.0f} s, {_bytes_each(runs):.0f} bytes a run")
    return ask_in_process(owner, ADDRESSES)


def _index(team_id: Any) -> None:
    """Index all runs as the site's job does, but for the reading of their texts."""
    from apps.runs.models import IndexedRun, Run, SearchBlock, SearchProgress
    from apps.runs.search.blocks import blocks_merge, new_blocks
    from apps.runs.search.postings import PREFIX_BITS

    place = SearchProgress.objects.create(
        team_id=team_id, from_seq=0, through_seq=10**9
    )
    ids = Run.objects.for_team(team_id).order_by("id").values_list("id", flat=True)
    words, number = _words(team_id), itertools.count()
    runs = ids.iterator()
    while some := list(itertools.islice(runs, ROWS_AT_ONCE)):
        codes = [next(words) for _ in some]
        IndexedRun.objects.bulk_create(
            IndexedRun(
                run_id=run_id,
                team_id=team_id,
                number=next(number),
                words=struct.pack(f"<{len(own)}I", *(c >> PREFIX_BITS for c in own)),
                is_partial=False,
            )
            for run_id, own in zip(some, codes, strict=True)
        )
        for start in range(0, len(some), STEP):
            step = new_blocks(team_id, place.runs, codes[start : start + STEP])
            SearchBlock.objects.bulk_create(step)
            place.runs = min(place.runs + STEP, place.runs + len(some) - start)
        place.save()
        for _ in blocks_merge(place):
            pass


def _words(team_id: Any) -> Iterator[list[int]]:
    """Yield the codes of one run after the other."""
    from apps.runs.search.word_codes import word_codes

    draw = random.Random(7)
    codes = word_codes(team_id, [f"word{n}" for n in range(VOCABULARY)])
    # Zipf: the nth word is in a share of the runs that falls with n.
    shares = list(itertools.accumulate(1 / (n + 10) for n in range(VOCABULARY)))
    while True:
        yield sorted(set(draw.choices(codes, cum_weights=shares, k=WORDS)))


def _bytes_each(runs: int) -> float:
    """Return what the index takes on disk, by the run."""
    from django.db import connection

    tables = "runs_indexedrun", "runs_searchblock"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            sizes = " + ".join(f"pg_total_relation_size('{name}')" for name in tables)
            cursor.execute(f"SELECT {sizes}")
        else:
            cursor.execute(
                "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM "
                "sqlite_master WHERE tbl_name IN (%s, %s))",
                tables,
            )
        return float(cursor.fetchone()[0]) / runs


if __name__ == "__main__":
    given = _arguments()
    if given.seeded:
        print(json.dumps(measure(given.runs)))
    else:
        main()
