# `make demo` and `make test` set up everything they need in .venv; nothing else has to be installed first.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint types contracts docs bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[emulated-gpu,dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/ovplace optimize models/demo.xml --time 2m --output runs/demo

# One thread for each process's matrix products: two processes with two threads each wait for one another.
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

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
	$(BIN)/python benchmarks/command_line.py
	$(BIN)/python benchmarks/read_large.py

clean:
	rm -rf $(VENV) runs build dist
