# Two commands do all the set-up: `make scan REPO=path` runs porter, `make check` runs every check. Both need Python 3.11+ and make.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
REPO ?=
OUT ?= porter-report.html

.PHONY: help setup scan check test lint types generated generate clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/ -/'

$(BIN)/porter: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("porter needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $(BIN)/porter

$(VENV)/.dev: $(BIN)/porter
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.dev

setup: $(VENV)/.dev  ## make the environment with everything development needs

scan: $(BIN)/porter  ## scan REPO=path and write the HTML report to OUT
	@test -n "$(REPO)" || { echo "usage: make scan REPO=path/to/repository [OUT=report.html]" >&2; exit 2; }
	$(BIN)/porter scan "$(REPO)" --output "$(OUT)"

check: lint types generated test  ## every check: format, lint, types, generated files, tests

lint: $(VENV)/.dev
	$(BIN)/ruff format --check porter tests
	$(BIN)/ruff check porter tests

types: $(VENV)/.dev
	$(BIN)/mypy

test: $(VENV)/.dev  ## the tests
	$(BIN)/python -m pytest -n 2

generated: $(VENV)/.dev
	$(BIN)/python tools/generate.py --check

generate: $(VENV)/.dev  ## write the generated files again
	$(BIN)/python tools/generate.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache porter-report.html
