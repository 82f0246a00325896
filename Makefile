# Two commands on a fresh machine: `make run` and `make test`. Both set up .venv first.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: help run test check bench clean

help:  ## what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY)  ## benchmark DistilBERT and watch it live; without a terminal, print progress and the report
	@if [ -t 0 ] && [ -t 1 ]; then \
		$(BIN)/benchtui quick; \
	else \
		$(BIN)/benchtui run quick && $(BIN)/benchtui export latest; \
	fi

test: check  ## everything that CI looks at

check: $(READY)  ## ruff, mypy, import-linter and the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

bench: $(READY)  ## measure benchtui itself: ratios against something in the same run
	$(BIN)/python tests/benchmarks/plain_loop.py
	$(BIN)/python tests/benchmarks/train_loop.py
	$(BIN)/python tests/benchmarks/screen.py

clean:  ## remove .venv and what tools left
	rm -rf .venv build *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "benchtui needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
