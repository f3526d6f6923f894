# Commands for developers. `make help` lists the targets with their descriptions.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PINNED := --require-hashes --only-binary :all:

COMPILE := pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links

.DEFAULT_GOAL := help
.PHONY: help setup run test check quick lint tested compiled browser screenshots format bench fuzz explore storm simulate \
	docs pins clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Two stamps: tests and benchmarks need more packages than running the service.
$(VENV)/run.stamp: requirements.txt requirements-build.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install $(PINNED) -r requirements.txt -r requirements-build.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/dev.stamp: requirements-dev.txt $(VENV)/run.stamp
	$(PIP) install $(PINNED) -r requirements-dev.txt
	touch $@

setup: $(VENV)/dev.stamp ## Create .venv with everything for running, testing and benchmarks

run: $(VENV)/run.stamp ## Run a demo challenge with five real systems, print its board, and keep serving
	$(BIN)/assay demo $(if $(PORT),--port $(PORT))

lint: $(VENV)/dev.stamp ## Check style, types, import directions, and what documents and declarations say
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.repository.check

format: $(VENV)/dev.stamp ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Either tier in one run of pytest; two cores have work for a third process while tests wait for others.
TIER := $(if $(filter full,$(TEST_SCOPE)),,-m 'not ci' -p no:schemathesis)
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadscope --no-loadscope-reorder
# What this leaves out of tests/scoring takes a third of the time of them all.
PURE_TESTS := tests/archives tests/drawing tests/formats tests/golden tests/oracles tests/scoring tests/text tests/tlog \
	tests/test_pipeline.py $(patsubst %,--ignore=tests/scoring/%,convert order uncertainty)

test: $(VENV)/dev.stamp compiled ## Check style, types and the first tier of tests, before each commit
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory -j 2 lint tested

check: ## Check everything as .ci/run does: both tiers of tests, with more examples and the pages
	$(MAKE) --no-print-directory test TEST_SCOPE=full

quick: ## Check what needs no service: lint, and the tests of PURE_TESTS
	$(MAKE) --no-print-directory test TESTS="$(PURE_TESTS)"

tested: $(VENV)/dev.stamp
	$(PYTEST) -n 3 $(TIER) $(TESTS)

# Tests start hundreds of processes; this way none of them compiles the program again.
compiled: $(VENV)/dev.stamp
	$(BIN)/python -m compileall -q -x '/test_' app migrations tests  # pytest compiles the tests its own way

browser: $(VENV)/dev.stamp ## Test the pages in Debian's Chromium (apt-get install chromium-headless-shell fonts-dejavu-core)
	$(PYTEST) -n 2 tests/browser

screenshots: $(VENV)/dev.stamp ## Take pictures of all pages, in light, dark and narrow, into screenshots/ (ONLY=board,…)
	$(BIN)/python -m tests.browser.screenshots $(if $(ONLY),--only $(ONLY))

bench: $(VENV)/dev.stamp ## Print the benchmark tables (KEEP=1 stores them for the page, ONLY=W1,W3 selects some)
	$(BIN)/python -m benchmarks.run $(if $(ONLY),--only $(ONLY)) $(if $(KEEP),--json docs/performance.json)
	$(if $(ONLY),,$(BIN)/python -m benchmarks.operations $(if $(KEEP),--json docs/performance_service.json))

fuzz: $(VENV)/dev.stamp ## Fuzz every reader (SECONDS=60 for each)
	$(BIN)/python -m tests.fuzz.run --seconds $(or $(SECONDS),60)

explore: $(VENV)/dev.stamp ## Draw new examples for all property tests (SECONDS=600, TIMES=20 times the stated number, ONLY=tests/…, SEED=1)
	$(BIN)/python -m tests.explore.run --seconds $(or $(SECONDS),600) --times $(or $(TIMES),20) $(if $(SEED),--seed $(SEED)) $(ONLY)

storm: $(VENV)/dev.stamp ## Kill and freeze a service at random while 2,000 submissions come in (RUNS=10, SEED=1, OUT=FILE)
	$(BIN)/python -m tests.storm.run --runs $(or $(RUNS),10) --seed $(or $(SEED),1) $(if $(OUT),--out $(OUT))

simulate: $(VENV)/dev.stamp ## Simulate the errors of intervals and rank sets again: hours (docs/uncertainty.md)
	$(BIN)/python -m benchmarks.simulation.coverage --json docs/coverage.json
	$(BIN)/python -m benchmarks.simulation.family_wise_error --json docs/family_wise_error.json

docs: $(VENV)/run.stamp ## Generate the documents that follow from declarations
	$(BIN)/python docs/build.py

# Development first, so that the service gets only versions that are compatible with the development tools.
pins: ## Update all pins, with hashes (needs pip-tools)
	$(COMPILE) --extra dev -o requirements-dev.txt pyproject.toml
	$(COMPILE) -c requirements-dev.txt -o requirements.txt pyproject.toml
	$(COMPILE) --extra build -c requirements-dev.txt -o requirements-build.txt pyproject.toml

clean: ## Remove the virtual environment and caches, never data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
