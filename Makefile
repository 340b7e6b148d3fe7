# Every target makes its own virtual environment: a fresh clone needs nothing but Python and make.
#
#   make demo    run the demonstration in this terminal
#   make test    lint, types, tests with coverage, notebooks
#   make lint    lint and types alone
#   make bench   measure against the goals and write benchmarks/results.json (ONLY=N1,N4 ROUNDS=20: less of it)
#   make clean   remove what the other targets made

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

VENV ?= .venv
# Another interpreter: make test PYTHON=/path/to/python3.12
PYTHON ?=

# Absolute, so that a recipe may change its folder and VENV may lie anywhere.
VENV_PATH := $(abspath $(VENV))
RUN := $(VENV_PATH)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --quiet install
OK := import sys; sys.exit(sys.version_info < (3, 11))

help:
	@sed -n 's/^#   //p' Makefile

$(VENV_PATH)/bin/python:
	@case "$$(uname -s)" in \
	  Linux|Darwin) ;; \
	  *) echo "make: mcc_jupyter runs on Linux and macOS, not on $$(uname -s)."; exit 1 ;; \
	esac; \
	found=''; \
	for candidate in "$(PYTHON)" python3 python3.13 python3.12 python3.11 python; do \
	  test -n "$$candidate" || continue; \
	  if command -v "$$candidate" >/dev/null 2>&1 && "$$candidate" -c '$(OK)' >/dev/null 2>&1; then found="$$candidate"; break; fi; \
	  test "$$candidate" != "$(PYTHON)" || { echo "make: PYTHON=$(PYTHON) is not a Python 3.11 or newer."; exit 1; }; \
	done; \
	test -n "$$found" || { echo "make: no Python 3.11 or newer was found. Install one, or say where: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 1; }; \
	"$$found" -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "make: $$found has no venv module. Install it (Debian and Ubuntu: the package python3-venv) and try again."; exit 1; }; \
	echo "Making $(VENV) with $$found ..."; \
	"$$found" -m venv "$(VENV_PATH)"

# A stamp a set of packages: a second run installs nothing.
$(VENV_PATH)/.demo-packages: pyproject.toml | $(VENV_PATH)/bin/python
	@echo "Installing what the demonstration needs ..."
	@$(PIP) --editable '.[demo]' || { echo "make: the packages could not be installed; pip says why above."; exit 1; }
	@touch $@

$(VENV_PATH)/.test-packages: pyproject.toml | $(VENV_PATH)/bin/python
	@echo "Installing what the tests need ..."
	@$(PIP) --editable '.[test]' || { echo "make: the packages could not be installed; pip says why above."; exit 1; }
	@touch $@

demo: $(VENV_PATH)/.demo-packages
	@$(RUN) notebooks/demo/run_demo.py

lint: $(VENV_PATH)/.test-packages
	$(RUN) -m ruff check .
	$(RUN) -m mypy

test: lint
	$(RUN) -m pytest --cov --cov-report=term
	$(RUN) -m pytest --nbval --nbval-current-env --nbval-cell-timeout 60 \
	  --nbval-sanitize-with notebooks/nbval_sanitize.cfg notebooks

bench: $(VENV_PATH)/.test-packages
	$(RUN) -m benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(ROUNDS),--rounds $(ROUNDS))

clean:
	if test -f "$(VENV_PATH)/pyvenv.cfg"; then rm -rf "$(VENV_PATH)"; fi
	rm -rf .bench .demo .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache dist benchmarks/results.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
