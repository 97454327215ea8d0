# Needs only make and Python ≥ 3.11. Every target makes its own .venv first; PYTHON chooses the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test quick test-all test-long fuzz bench bench-peers docs kernels dist lint types clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.extra-dev  ## build, run, save and load a tanh net as a quadratic ODE; writes out/demo.png
	@$(BIN)/python examples/demo.py

test: $(VENV)/.extra-dev  ## lint, types and the quick tests at once: at most 3 minutes on two cores
	@$(MAKE) --no-print-directory -j3 lint types quick

PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal --every-module
quick: $(VENV)/.extra-dev  ## the tests that are not marked slow
	@$(PYTEST)

test-all: $(VENV)/.extra-dev  ## every test, with all examples of every law
	@$(PYTEST) -m ""

test-long: $(VENV)/.extra-dev  ## every test, with examples that are drawn afresh
	@$(PYTEST) -m "" --hypothesis-profile=fresh

SECONDS ?= 120
SEED ?= 1
fuzz: $(VENV)/.extra-nets $(VENV)/.extra-oracles $(VENV)/.extra-jax  ## random sources against oracles: SECONDS=120 SEED=1 KINDS=onnx,formula
	@PYTHONPATH=tests/support $(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED) --kinds "$(KINDS)"

bench: $(VENV)/.extra-bench $(VENV)/.extra-jax  ## the ratio table: our engines against numpy, heyoka and scipy
	@PYTHONPATH=examples $(BIN)/python benchmarks/run.py

bench-peers: $(VENV)/.extra-bench $(PEERS)/.installed  ## bounds of nets beside auto_LiRPA, which gets an environment of its own
	@PYTHONPATH=examples $(BIN)/python benchmarks/peers.py $(PEERS)/bin/python

docs: $(VENV)/.extra-docs  ## the documentation as pages, in out/docs; a broken link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

kernels: $(VENV)/.extra-dev  ## compile the kernels of closed loops ahead, for this checkout and the wheel
	@$(BIN)/python tools/kernels.py

dist: kernels  ## the wheel and the source archive, in dist, with the kernels
	@$(BIN)/python -m build --no-isolation --outdir dist

lint: $(VENV)/.extra-dev  ## ruff, rules and format
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(VENV)/.extra-dev  ## mypy, strict for the package
	@$(BIN)/mypy

clean:  ## remove what make made, .venv included
	rm -rf $(VENV) $(PEERS) out dist src/integraph/numbers/kernels .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each extra of pyproject.toml: .venv/.extra-bench means that `.[dev,bench]` is installed.
$(VENV)/.extra-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV): $* (about a minute)"
	@$(BIN)/python -m pip --disable-pip-version-check -qq install -c constraints.txt -e '.[dev,$*]'
	@touch $@

# auto_LiRPA asks for older versions of what it needs than there are for this Python; these work (benchmarks/crown.py).
$(PEERS)/.installed: benchmarks/peers.txt
	@echo "installing into $(PEERS): auto_LiRPA and PyTorch (some minutes)"
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check -qq install -r benchmarks/peers.txt
	@$(PEERS)/bin/python -m pip --disable-pip-version-check -qq install --no-deps auto_LiRPA==0.3
	@touch $@

OLD := Integraph needs Python 3.11 or newer, this is %s: name another one, as in make PYTHON=python3.12

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "no interpreter called $(PYTHON): make PYTHON=... names another" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit("$(OLD)" % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
