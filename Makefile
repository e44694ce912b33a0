# `make demo` and `make test` need nothing but Python 3.11, make and a package index.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Build environments, too, follow the constraints.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: install demo test test-federated test-deployment check docs format bench clean

install: $(VENV)/.core

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/.core $(VENV)/.demo

$(VENV)/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt -e '.[charts,train]'
	touch $@ $(VENV)/.core

demo: $(VENV)/.demo
	$(BIN)/python scripts/demo.py

# Compiled files are kept: without them each of the many processes would compile everything anew.
test: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

# Flower's limits on other packages differ from ours, so it has an environment of its own.
FEDERATED := .venv-federated
$(FEDERATED)/.done: pyproject.toml constraints-federated.txt
	test -x $(FEDERATED)/bin/python || $(PYTHON) -m venv $(FEDERATED)
	PIP_CONSTRAINT=$(CURDIR)/constraints-federated.txt $(FEDERATED)/bin/python -m pip \
		--disable-pip-version-check install --quiet -c constraints-federated.txt \
		-e '.[federated]' hypothesis pytest
	touch $@

test-federated: $(FEDERATED)/.done
	FLWR_TELEMETRY_ENABLED=0 $(FEDERATED)/bin/python -m pytest tests/federated -m "not deployment"

# A real SuperLink and two SuperNodes on this machine; some minutes.
test-deployment: $(FEDERATED)/.done
	FLWR_TELEMETRY_ENABLED=0 $(FEDERATED)/bin/python -m pytest tests/federated -m deployment

check: $(VENV)/.dev docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Into build/site; without the theme's announcement of its successor.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(FEDERATED) demo build dist
