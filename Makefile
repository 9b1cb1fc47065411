# The words people type; CI types the same.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

FUZZ_N ?= 1e6
FUZZ_SECONDS ?= 600

.PHONY: demo demo-live test test-release test-label-studio check types fuzz kills load bench board sense reproduce docs pages screenshots clean
.DELETE_ON_ERROR:

demo: $(VENV)/.user  ## simulate a crowd, find the consensus, write a report
	@$(BIN)/amcc demo

demo-live: $(VENV)/.serve  ## a live campaign to look at: a server, simulated workers, two minutes; SECONDS=600 longer
	@$(BIN)/amcc demo --live $(if $(SECONDS),--seconds $(SECONDS))

test: check  ## lint, types, tests
	@$(BIN)/python -m pytest -n auto --dist loadfile  # what the tests of a file share is made once

test-release: $(VENV)/.dev  ## wheel and sdist in clean environments, oldest and newest Python found; PYTHONS="python3.12" these
	@$(BIN)/python tests/e2e/release.py $(if $(PYTHONS),--pythons $(PYTHONS))

test-label-studio: $(VENV)/.dev $(VENV)/label-studio/bin/label-studio  ## a real Label Studio on the loopback: 1 GB, some minutes
	@$(BIN)/python tests/label_studio/real_server.py $(VENV)/label-studio/bin/label-studio

$(VENV)/label-studio/bin/label-studio: | $(BIN)/python
	@$(BIN)/python -m venv $(VENV)/label-studio
	@$(VENV)/label-studio/bin/python -m pip install -qq --disable-pip-version-check 'label-studio>=1.23,<2'

check: $(VENV)/.dev  ## lint and types only
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary

types: $(VENV)/.dev  ## how many public names have a known type, by pyright (needs Node.js or the network; a minute)
	@$(PIP) pyright
	@$(BIN)/python benchmarks/known_types.py

fuzz: $(VENV)/.dev  ## damaged files through every reader; FUZZ_N=1e6 FUZZ_SECONDS=600 whichever comes first, FUZZ_SEED repeats
	@$(BIN)/python tests/fuzz/fuzzing.py --n $(FUZZ_N) --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

kills: $(VENV)/.dev  ## kill campaigns, packings and outputs 1,000 times while they write; KILLS=100 fewer, SEED=1 the same again
	@$(BIN)/python benchmarks/kills.py $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED))

load: $(VENV)/.dev  ## kill the server of a live campaign 100 times while 50 work, and check the books; KILLS=5 ONLY=sqlite fewer
	@$(BIN)/python benchmarks/load.py $(if $(KILLS),--kills $(KILLS)) $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED)) $(if $(WRITE),--write)

bench: $(VENV)/.bench  ## speed, memory and quality against others, packed votes, simulated clusters; QUICK=1 takes five minutes, writes nothing
	@$(BIN)/python benchmarks/consensus.py $(if $(QUICK),--sizes 1e5 --turns 3,--write)
	@$(BIN)/python benchmarks/engines.py $(if $(QUICK),--quick,--write)
	@$(BIN)/python benchmarks/incremental.py $(if $(QUICK),--sizes 1e5,--write)
	@$(BIN)/python benchmarks/start.py $(if $(QUICK),--turns 3,--write)
	@$(BIN)/python benchmarks/scaling.py $(if $(QUICK),--votes 1e6 --workers 2e4,--write)

board: $(VENV)/.bench  ## every method, and crowd-kit's, on every crowd with known truth; DATA=folder adds real ones
	@$(BIN)/amcc board --known 10,30 $(if $(DATA),--data $(DATA))

sense: $(VENV)/.dev  ## what any consensus should hold on small crowds; DATA=folder adds real ones, METHODS=amcc,ibcc DRAWS=120 others
	@$(BIN)/python benchmarks/sense.py --methods $(if $(METHODS),$(METHODS),amcc,majority,dawid-skene) $(if $(DATA),--data $(DATA)) $(if $(DRAWS),--draws $(DRAWS))

reproduce: $(VENV)/.dev  ## every table and figure of the paper; DATA=folder adds real crowds, QUICK=1 takes five minutes
	@$(BIN)/amcc reproduce $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

docs: pages  ## the documentation site, in the folder site: open site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

pages: $(VENV)/.dev  ## write the generated pages, pictures and outputs of notebooks only
	@$(BIN)/python docs/build_cli.py
	@$(BIN)/python docs/build_architecture.py
	@$(BIN)/python docs/build_plots.py
	@$(BIN)/python docs/build_home.py
	@$(BIN)/python docs/build_notebooks.py

screenshots: $(VENV)/.dev  ## the pictures of docs/campaigns.md, with a real browser (apt-get install chromium)
	@$(BIN)/python docs/build_screenshots.py

clean:
	rm -rf $(VENV) amcc-demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Each stamp says that an environment holds what pyproject.toml asked for when it was made.
$(VENV)/.user: EXTRA = report
$(VENV)/.serve: EXTRA = report,serve
$(VENV)/.dev: EXTRA = dev
$(VENV)/.bench: EXTRA = dev,bench
$(VENV)/.user $(VENV)/.serve $(VENV)/.dev $(VENV)/.bench: pyproject.toml | $(BIN)/python
	@$(PIP) -e '.[$(EXTRA)]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "amcc needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
