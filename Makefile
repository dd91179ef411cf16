# `make demo` and `make test` set up everything they need in .venv; nothing else has to be installed first.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow test-oldest coverage lint types contracts docs bench wheel clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[emulated-gpu,dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/ovplace optimize models/demo.xml --time 2m --output runs/demo

# One thread for each process's matrix products: two processes with two threads each wait for one another.
# Compiled modules are kept, also where Python is told not to: the tests start many processes.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

test: $(READY)
	$(PYTEST) -m 'not slow'

test-slow: $(READY)
	$(PYTEST) -m slow

# The fast tests with the oldest required packages that pyproject.toml allows.
test-oldest: $(READY)
	rm -rf build/oldest && mkdir -p build
	sed -n '/^dependencies/,/^]/s/^ *"\(.*\)>=\(.*\)",$$/\1==\2/p' pyproject.toml > build/oldest.txt
	$(BIN)/python -m pip install --quiet --no-deps --target build/oldest --requirement build/oldest.txt
	PYTHONPATH=$(CURDIR)/build/oldest $(PYTEST) -m 'not slow'

# Branches of the rooms in pyproject.toml, by their own tests.
coverage: $(READY)
	mkdir -p build
	OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -n0 -m 'not slow' tests/store tests/search tests/ir/test_affinity.py tests/exporters
	$(BIN)/python -m coverage report

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/python -m sphinx -q -b html -n -W --keep-going docs build/docs

bench: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks short

wheel: $(READY)
	PYTHON=$(BIN)/python bash .ci/wheel

clean:
	rm -rf $(VENV) runs build dist
