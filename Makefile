# The words people type; CI types the same.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

FUZZ_N ?= 1e6
FUZZ_SECONDS ?= 600

.PHONY: demo test check fuzz kills bench board reproduce docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.user  ## simulate a crowd, find the consensus, write a report
	@$(BIN)/amcc demo

test: check  ## lint, types, tests
	@$(BIN)/python -m pytest -n auto --dist loadfile  # what the tests of a file share is made once

check: $(VENV)/.dev  ## lint and types only
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary

fuzz: $(VENV)/.dev  ## damaged files through every reader; FUZZ_N=1e6 FUZZ_SECONDS=600 whichever comes first, FUZZ_SEED repeats
	@$(BIN)/python tests/fuzz/fuzzing.py --n $(FUZZ_N) --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

kills: $(VENV)/.dev  ## kill campaigns, packings and outputs 1,000 times while they write; KILLS=100 fewer, SEED=1 the same again
	@$(BIN)/python benchmarks/kills.py $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

bench: $(VENV)/.bench  ## speed, memory and quality against others, packed votes, simulated clusters; QUICK=1 small, writes nothing
	@$(BIN)/python benchmarks/consensus.py $(if $(QUICK),--sizes 1e4 1e5,--write)
	@$(BIN)/python benchmarks/engines.py $(if $(QUICK),--quick,--write)
	@$(BIN)/python benchmarks/incremental.py $(if $(QUICK),--sizes 1e4 1e5,--write)
	@$(BIN)/python benchmarks/scaling.py $(if $(QUICK),--votes 1e6 --workers 2e4,--write)

board: $(VENV)/.bench  ## every method, and crowd-kit's, on every crowd with known truth; DATA=folder adds real ones
	@$(BIN)/amcc board --known 10,30 $(if $(DATA),--data $(DATA))

reproduce: $(VENV)/.dev  ## every table and figure of the paper; DATA=folder adds real crowds, QUICK=1 takes five minutes
	@$(BIN)/amcc reproduce $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

docs: $(VENV)/.dev  ## write the generated pages
	@$(BIN)/python docs/build_cli.py
	@$(BIN)/python docs/build_architecture.py

clean:
	rm -rf $(VENV) amcc-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Each stamp says that an environment holds what pyproject.toml asked for when it was made.
$(VENV)/.user: EXTRA = report
$(VENV)/.dev: EXTRA = dev
$(VENV)/.bench: EXTRA = dev,bench
$(VENV)/.user $(VENV)/.dev $(VENV)/.bench: pyproject.toml | $(BIN)/python
	@$(PIP) -e '.[$(EXTRA)]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "amcc needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
