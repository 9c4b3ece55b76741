# make demo    see it work             make test    everything CI runs
# make quick   an answer in a minute   make check   style, types, layers, generated pages
# make fuzz    search on, new seeds    make docs    regenerate pages, printed outputs and the picture
# make bench   speed beside the peers  make site    the documentation, in build/site
# make dist    wheel and sdist         make release everything checked, built, tried and tagged
# make environments   the release in clean environments, by Python and dependencies
# make clean   remove what was made
#
# Each sets up what it needs in .venv, and again only when pyproject.toml or constraints.txt changed.

PYTHON ?= python3
VENV ?= .venv
# Tests that share a Java machine or a cluster stay together.
PYTEST_FLAGS ?= -n auto --dist loadgroup
CONSTRAINTS ?= constraints.txt

BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c $(CONSTRAINTS)
DOCUMENTS = $(shell grep -rlE '^```(python|console)$$' --include='*.md' --exclude-dir=notebooks README.md CONTRIBUTING.md docs)

QUICK := tests/layers/test_house.py tests/judge tests/aggregate tests/evaluation tests/metrics/test_metrics_by_hand.py \
	tests/data/test_columns.py tests/data/test_read_frames.py tests/data/test_ids.py tests/test_convention.py tests/splits/test_splits.py

# In CI a test that is skipped for want of something CI installs has failed.
ifeq ($(CI),true)
STRICT := -p strict_skips
endif

.PHONY: help demo test quick fuzz check bench docs site dist release environments clean
help:
	@sed -n '1,7s/^# //p' Makefile

demo: $(VENV)/.runtime
	@$(BIN)/rectitude demo

test: check
	PYTHONPATH=tests $(BIN)/python -m pytest $(PYTEST_FLAGS) $(STRICT)

# What a change breaks most often: style, layers, and the tests that need neither the network, a
# browser, another process nor compiled code.
quick: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	PYTHONPATH=tests RECTITUDE_KERNELS=numpy $(BIN)/python -m pytest $(PYTEST_FLAGS) $(QUICK)

# Every property test again, and malformed inputs, with fresh seeds and many more examples; a failure
# prints how to repeat it.
FUZZ_INPUTS ?= 3000
fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz/malformed.py --count $(FUZZ_INPUTS)
	PYTHONPATH=tests HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest $(PYTEST_FLAGS) -m hypothesis

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check
	$(BIN)/python tools/third_party.py --check

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/peers.py install
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/dense.py
	$(BIN)/python benchmarks/logits.py
	$(BIN)/python benchmarks/embeddings.py
	$(BIN)/python benchmarks/identify.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/torch_updates.py
	$(BIN)/python benchmarks/report.py

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py
	$(BIN)/python tools/third_party.py
	$(BIN)/python docs/run_notebooks.py
	$(BIN)/python docs/blocks.py --write $(DOCUMENTS)
	$(BIN)/python docs/images/make_screenshot.py

site: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(VENV)/.dev
	$(BIN)/python tools/distribution.py dist

release: $(VENV)/.dev
	$(BIN)/python tools/release.py

environments: $(VENV)/.dev
	$(INSTALL) uv
	PATH="$(CURDIR)/$(BIN):$$PATH" UV_PYTHON_DOWNLOADS=never $(BIN)/python tools/environments.py dist

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests docs examples benchmarks -path benchmarks/_envs -prune -o -name __pycache__ -print0 \
		| xargs -0 rm -rf

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rectitude needs Python 3.11 or newer; $(PYTHON) is" \
		"$$($(PYTHON) --version 2>&1 || echo missing). Name another: make PYTHON=python3.12"; exit 1; }
	@echo "setting up $(VENV) (a minute or two, once)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: pyproject.toml constraints.txt | $(VENV)/.python
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.python
	@$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.runtime $@
