"""What the house looks like, checked on the source itself.

Who may import whom is the import-linter's part (`make check`); here are sizes, the
public surface of apps, and the words the repository must not hold.
"""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(
    path
    for folder in ("apps", "conductor_site", "deploy")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
NOT_IMPORTED = {"daphne"}
"""Required packages that our code does not name: another server for the ASGI entry."""
PURE = {"engine", "llm", "planners", "sandbox", "simulator"}
OPEN_MODULES = {"services", "selectors", "models", "errors", "types"}
"""What an app that is not pure shows to the others."""
ALSO_OPEN = {
    "apps.alerts.evaluation",  # a regular job of the site, like the next one
    "apps.alerts.mails",
    "apps.attachments.images",  # images by their content, for every interface
    "apps.accounts.digests",  # of secrets that are shown once
    "apps.accounts.keys",  # the shape of a key, for the demo
    "apps.accounts.principal",  # made by every interface
    "apps.accounts.rights",  # what operations require
    "apps.audit.browsing.chain_status",  # the ledger for people, like the next ones
    "apps.audit.browsing.fact_words",
    "apps.audit.browsing.full_checks",
    "apps.audit.browsing.one_entry",
    "apps.audit.browsing.run_checks",
    "apps.audit.browsing.search",
    "apps.audit.bundles.export",  # the record of a run, for REST and its page
    "apps.audit.exports.filters",  # exports of entries, like the next ones
    "apps.audit.exports.jobs",
    "apps.audit.exports.parts",
    "apps.audit.jobs",  # background jobs: opened and closed by the process, shown
    "apps.audit.job_news",
    "apps.audit.verify",  # verification is a read with a report of its own
    "apps.audit.metrics",  # its lag is measured where it is waited for
    "apps.audit.checkpoints.thread",  # opened and closed by the process
    "apps.audit.rows",  # what a check of derived rows tells
    "apps.audit.writer_process",  # the ledger's hot path in a process of its own
    "apps.audit.checkpoints.creation",  # how far checkpoints are behind
    "apps.audit.writer",  # the ledger's hot path
    "apps.budgets.periods",  # when a day or month ends
    "apps.budgets.rate_limits",  # asked on every request of a limited key
    "apps.budgets.reservations",  # statements for the ledger's commits
    "apps.gateway.wrong_paths",  # which paths outside of /v1 are API clients'
    "apps.presets.composing",  # prompts made of presets, for every interface
    "apps.presets.inputs",  # what a preset says
    "apps.presets.templates",  # its variables
    "apps.pools.attributes",  # what workers, conductors and tiers are described by
    "apps.pools.model_guesses",  # names and the best planner, for people
    "apps.pools.prompt_styles",  # a choice of theirs
    "apps.pools.pool_file",  # pool files
    "apps.pools.value_types",  # shapes of addresses and names
    "apps.pools.worker_figures.outcomes",  # judgements, to be stored and shown
    "apps.pools.worker_figures.profiles",  # what was measured of workers
    "apps.governance.approvals.edited_plans",  # plans as people send them
    "apps.governance.approvals.links",  # links of mails, like the next one
    "apps.governance.approvals.pending",  # reads of plans that wait
    "apps.governance.policies.examples",  # rules to begin with
    "apps.governance.policies.expressions",  # what expressions of rules see
    "apps.governance.policies.run_facts",  # what is stated of a prompt
    "apps.governance.sensitive_data.classification",  # its data class
    "apps.governance.policies.rules",  # what rules are made of
    "apps.governance.sensitive_data.detection",  # kinds of sensitive data
    "apps.governance.reviews.reads",  # reads of the review queue
    "apps.governance.reviews.rules",  # which runs are reviewed, the rubric
    "apps.governance.policies.sentences",  # rules in words
    "apps.governance.policies.worker_tags",  # what tags say of workers
    "apps.governance.trials.jobs",  # opened and closed by the process
    "apps.governance.trials.reads",  # reads with values of their own
    "apps.governance.sensitive_data.own_patterns",  # what patterns are made of
    "apps.sharing.lookups",  # limits of addresses, for the page of a link
    "apps.conversations.history",  # what a person wrote in a run
    "apps.evaluation.calibration",  # which workers it measures, for pages
    "apps.evaluation.reports.headline",  # what conducting brings, like the next one
    "apps.evaluation.reports.known_tasks",
    "apps.evaluation.reports.comparison",  # a read with a report of its own
    "apps.evaluation.reports.inspect_log",  # a report in another format
    "apps.evaluation.drawing",  # which tasks a seed draws
    "apps.evaluation.job_sharing",  # which process takes a job
    "apps.evaluation.jobs",  # opened and closed by the process
    "apps.evaluation.plan_runs",  # runs of plans, and their grades
    "apps.evaluation.reports.report",  # a read of its own, like the next one
    "apps.evaluation.reports.report_formats",
    "apps.evaluation.reports.report_markdown",
    "apps.evaluation.reports.result_filters",  # a read with filters of its own
    "apps.evaluation.settings",
    "apps.evaluation.ab.jobs",  # a regular job of the site
    "apps.evaluation.ab.models",  # words for outcomes
    "apps.evaluation.ab.report",  # a read with a report of its own
    "apps.evaluation.ab.selectors",
    "apps.evaluation.ab.services",
    "apps.evaluation.ab.settings",
    "apps.evaluation.candidate_settings",  # bounds, for forms
    "apps.evaluation.production.counting",  # a regular job of the site
    "apps.evaluation.opinions",  # a read with values of its own
    "apps.evaluation.shadow.jobs",  # opened and closed by the process
    "apps.evaluation.shadow.models",  # words for states and outcomes
    "apps.evaluation.promotions.promotion",
    "apps.evaluation.shadow.report",  # a read with a report of its own
    "apps.evaluation.shadow.selectors",
    "apps.evaluation.shadow.services",
    "apps.evaluation.shadow.settings",
    "apps.evaluation.requesters",  # who a job acts for
    "apps.evaluation.systems.base",  # the tier of fixed plans
    "apps.evaluation.reports.statistics",  # intervals, which pages draw
    "apps.evaluation.suites.benchmarks",  # which there are, for forms
    "apps.evaluation.suites.files",  # tasks as people and programs send them
    "apps.evaluation.suites.reads",  # what a suite holds
    "apps.evaluation.suites.reviewed",  # suites of reviewed runs, with their service
    "apps.evaluation.suites.storage",  # tasks as they are kept
    "apps.evaluation.suites.tasks",
    "apps.evaluation.reports.system_report",  # a part of the report
    "apps.evaluation.systems.short_names",  # systems as people name them
    "apps.evaluation.verifiers.words",  # verifiers in words
    "apps.insights.anomalies",  # days that stand out, which pages show
    "apps.insights.csv_files",
    "apps.insights.rollup",  # a regular job
    "apps.training.adaptation.jobs",  # regular jobs of the site
    "apps.training.conductor.folders",  # a regular job of the site
    "apps.training.conductor.jobs",  # taken by the process
    "apps.training.conductor.models",  # words for stages and outcomes
    "apps.training.conductor.settings",
    "apps.training.trainings.jobs",  # taken by the process
    "apps.training.trainings.models",
    "apps.training.trainings.settings",
    "apps.runs.planning.cost_estimates",  # what a plan may cost
    "apps.runs.execution.executor",  # opened and closed by the process
    "apps.runs.forks",  # what changes in a repeated plan
    "apps.runs.admission",  # the way in for runs of every interface
    "apps.comparisons.hidden_names",  # what is hidden in pages and REST
    "apps.comparisons.judging",  # what judges said, for pages and REST
    "apps.comparisons.routing",
    "apps.runs.live.run_feed",  # what sockets of comparisons share, like the next one
    "apps.runs.live.watchers",
    "apps.runs.consumers",
    "apps.runs.routing",
    "apps.runs.label_types",  # how much metadata there may be
    "apps.runs.saved_views",  # views of the list, for REST and its page
    "apps.runs.saved_view_models",  # how long their names may be
    "apps.runs.planning.direct_choices",  # workers to choose from
    "apps.runs.planning.families",  # families of tasks that callers name
    "apps.runs.planning.model_resolver",  # model names
    "apps.runs.planning.restrictions",  # the smaller of two limits
    "apps.runs.coordination.site_status",  # for metrics and the operator
    "apps.runs.telemetry.tracing",  # its packages are looked for at start
    "apps.runs.missing_plan",  # why a run has no plan, like the next ones
    "apps.runs.records.round_view",  # rounds, steps and calls of a run
    "apps.runs.records.run_view",  # the read model of a run
    "apps.web.text_differences",  # of versions and of answers
    "apps.web.preset_fields",  # a preset in forms of two apps
    "apps.web.body_limits",  # how long bodies may be, for REST
    "apps.webhooks.addresses",  # what may be told of an address
    "apps.webhooks.chat",  # alerts add what chats say of them
    "apps.webhooks.delivery_thread",  # opened and closed by the process
    "apps.webhooks.event_types",  # what webhooks can be subscribed to
    "apps.webhooks.sending",  # old deliveries are deleted
    "apps.budgets.crossings",  # a regular job
    "apps.gateway.app",
    "apps.gateway.batches.driver",  # opened and closed by the process
    "apps.web.request_context",  # what entries say of a request
    "apps.web.documentation.library",  # pages that the palette finds
    "apps.web.deferred_views",  # addresses whose views are imported later
    "apps.web.downloads",  # files in pieces
    "apps.web.setup_checklist",  # what a team lacks, on pages of two apps
    "apps.web.team_access",  # every page goes through it
    "apps.web.form_tokens",  # forms that are answered with a secret
    "apps.web.recorded_words",  # faults, on pages of runs and of teams
    "apps.web.formats",
    "apps.web.languages",  # forms of pages that are English alone
    "apps.web.middleware",
    "apps.web.script_words",  # the language that words are written in
    "apps.web.templatetags.web",  # messages of errors as sentences
    "apps.web.navigation",  # the pages, for the layout of the console
    "apps.web.websocket_middleware",  # wraps the consumers' routes
    "apps.web.run_addresses",  # filters of the list of runs in links
    "apps.web.waiting",  # views that wait for a provider
}
LOCKS = (
    "requirements.txt",
    "requirements/dev.txt",
    "requirements/gpu-train.txt",
    "requirements/learning.txt",
)
MAX_FILE, MAX_FUNCTION = 500, 60
MAX_FOLDER = 26
"""Modules of a folder beside its subfolders; `apps/engine` is one idea in 33."""


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def app_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "apps" and len(parts) > 2 else ""


def imports_of_apps() -> Iterator[tuple[Path, ast.ImportFrom, list[str]]]:
    """Yield every `from apps.… import …` with the parts of its module."""
    for path in SOURCES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = node.module.split(".")
                if parts[0] == "apps" and len(parts) > 2:
                    yield path, node, parts


def test_folders_stay_small():
    modules = [path for path in SOURCES if path.name != "__init__.py"]
    sizes = Counter(relative(path.parent) for path in modules)
    assert {f: n for f, n in sizes.items() if n > MAX_FOLDER} == {"apps/engine": 33}


def test_files_stay_small():
    sizes = {relative(p): len(p.read_text("utf-8").splitlines()) for p in SOURCES}
    assert {p: n for p, n in sizes.items() if n > MAX_FILE} == {}


def test_functions_stay_small():
    long = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION
    ]
    assert long == []


def test_modules_say_what_they_own():
    silent = [
        relative(path)
        for path in SOURCES
        if path.name != "apps.py"
        and path.read_text("utf-8").strip()
        and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def test_apps_use_each_other_through_their_open_modules():
    trespasses = [
        f"{relative(path)} imports {node.module}"
        for path, node, (_, app, module, *_) in imports_of_apps()
        if app != app_of(path)
        and app not in PURE | {"core"}
        and module not in OPEN_MODULES
        and node.module not in ALSO_OPEN
    ]
    assert trespasses == []


def test_no_module_takes_another_ones_private_names():
    private = [
        f"{relative(path)}: {alias.name}"
        for path, node, _ in imports_of_apps()
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert private == []


def test_pure_packages_are_no_django_apps():
    for name in PURE:
        assert not (ROOT / "apps" / name / "apps.py").exists()


def test_requirements_are_locked_with_hashes():
    clients = (ROOT / "tests/gateway/conformance/clients").glob("*.txt")
    own = (ROOT / lock for lock in LOCKS)
    for lock in (*own, *clients):
        text = lock.read_text("utf-8")
        pins = [line for line in text.splitlines() if line and line[0].isalnum()]
        assert pins
        assert all("==" in pin and pin.endswith("\\") for pin in pins)


def test_only_the_fit_of_light_planners_needs_scikit_learn():
    importing = {
        relative(path.parent)
        for path in SOURCES
        for node in ast.walk(tree(path))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        if name.split(".")[0] in {"sklearn", "scipy"}
    }
    assert importing == {"apps/training/fitting"}


def test_every_required_package_is_used():
    modules: dict[str, set[str]] = {}
    for module, packages in metadata.packages_distributions().items():
        for package in packages:
            modules.setdefault(package.lower().replace("_", "-"), set()).add(module)
    code = "\n".join(
        path.read_text("utf-8")
        for folder in ("apps", "conductor_site")
        for path in (ROOT / folder).rglob("*.py")
    )
    used = set(re.findall(r"(?:\b(?:import|from) |[\"'])(\w+)", code))
    asked = (ROOT / "requirements/base.in").read_text("utf-8")
    required = {name.lower() for name in re.findall(r"^[\w-]+", asked, re.M)}
    assert {name for name in required if not modules[name] & used} == NOT_IMPORTED


def test_no_tracked_file_names_a_package_registry():
    tracked = subprocess.run(
        ["git", "ls-files", "*.txt", "*.in", "*.toml", "*.json", "Makefile", "*.sh"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    address = re.compile(r"(index-url|find-links|\"resolved\"|registry).*https?://")
    named = [p for p in tracked if address.search((ROOT / p).read_text("utf-8"))]
    assert tracked
    assert named == []
