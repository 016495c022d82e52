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
import time
from collections.abc import Iterator
from typing import Any

from bench.databases import EMBEDDED, PRODUCTION, child_figures, database
from bench.figures import say
from bench.lists import ask_in_process
from bench.servers import folder

RUNS = 100_000
VOCABULARY, WORDS = 20_000, 40
ROWS_AT_ONCE = 50_000
INSERT = "INSERT INTO runs_searchword (team_id, word, run_id) VALUES (%s, %s, %s)"
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
    from django.db import connection, transaction

    from apps.accounts.models import Team
    from apps.runs.models import SearchProgress, SearchWord
    from bench.seeding import seed_team, settle

    call_command("migrate", verbosity=0)
    owner = seed_team(runs=runs, members=10, keys=10, running=0)
    team = Team.objects.get(slug="bench")
    start = time.perf_counter()
    rows = _words(team.id)
    with transaction.atomic(), connection.cursor() as cursor:
        while some := list(itertools.islice(rows, ROWS_AT_ONCE)):
            cursor.executemany(INSERT, some)
    SearchProgress.objects.create(team=team, from_seq=0, through_seq=10**9)
    settle()
    count = SearchWord.objects.for_team(team.id).count()
    say(f"  {count:,} words indexed in {time.perf_counter() - start:.0f} s")
    return ask_in_process(owner, ADDRESSES)


def _words(team_id: Any) -> Iterator[Any]:
    """Yield the rows of the index in its order, which is the quickest to write."""
    from django.db import connection

    from apps.audit.sql_dialects import dialect_of
    from apps.runs.models import Run
    from apps.runs.search.word_codes import word_codes

    adapt = dialect_of(connection).adapt
    draw = random.Random(7)
    codes = word_codes(team_id, [f"word{n}" for n in range(VOCABULARY)])
    # Zipf: the nth word is in a share of the runs that falls with n.
    shares = list(itertools.accumulate(1 / (n + 10) for n in range(VOCABULARY)))
    runs = Run.objects.for_team(team_id).order_by("id").values_list("id", flat=True)
    by_code: dict[int, list[Any]] = {}
    for run_id in runs.iterator():
        drawn = draw.choices(codes, cum_weights=shares, k=WORDS)
        for code in dict.fromkeys(drawn):
            by_code.setdefault(code, []).append(run_id)
    for code in sorted(by_code):
        for run_id in by_code.pop(code):
            yield adapt(team_id), code, adapt(run_id)


if __name__ == "__main__":
    given = _arguments()
    if given.seeded:
        print(json.dumps(measure(given.runs)))
    else:
        main()
