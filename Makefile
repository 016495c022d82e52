# Conductor. `make demo` to try it, `make test` to test it; both need nothing before.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --require-hashes

.PHONY: demo test test-js check format lock bench clean-demo
.DEFAULT_GOAL := help

help:
	@echo "make demo    start everything on http://127.0.0.1:$(PORT) (PORT=8001 for another)"
	@echo "make test    run all tests, browser tests included"
	@echo "make test-js the JavaScript client alone (needs Node)"
	@echo "make check   format, lint, types, import contracts, migrations"
	@echo "make bench   measure, and write bench/RESULTS.md"

$(VENV)/.installed: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements/dev.txt
	$(PIP) -r requirements/dev.txt
	@touch $@

demo: $(VENV)/.installed
	@PORT=$(PORT) exec $(BIN)/python deploy/demo.py

test: $(VENV)/.installed-dev
	@sh deploy/need_chromium.sh
	$(BIN)/python -m pytest -n 2 $(ARGS)

test-js: $(VENV)/.installed-dev ## the JavaScript client; needs Node
	npm ci --silent --no-fund --no-audit --prefix tests/gateway/conformance/javascript
	$(BIN)/python -m pytest tests/gateway/conformance -k javascript $(ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml apps conductor_site
	$(BIN)/python manage.py check
	$(BIN)/python manage.py makemigrations --check --dry-run

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## needs uv
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/base.in -o requirements.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/dev.in -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements/gpu-serve.in -o requirements/gpu-serve.txt

bench: $(VENV)/.installed-dev ## about six minutes on 2 cores
	$(BIN)/python -m bench.ledger
	$(BIN)/python -m bench.engine
	$(BIN)/python -m bench.gateway
	$(BIN)/python -m bench.streams
	$(BIN)/python -m bench.lists
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
