# Every target makes its own virtual environment and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
CONSTRAINTS := .ci/constraints.txt
# Several processes at work: one BLAS thread each (two levels of threads are ten times slower).
export OPENBLAS_NUM_THREADS ?= 1
export MPLBACKEND := Agg
# Python keeps what it has read for its next start, also where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all coverage coverage-all fuzz check format docs docs-figures bench bench-all clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(VENV)/.base: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	$(PIP) install -c $(CONSTRAINTS) -e .
	@$(BIN)/python -m tools.option_reference  # pages of `sdm help`, which a wheel has too
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) install -c $(CONSTRAINTS) -e '.[test,check]'
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	$(PIP) install -c $(CONSTRAINTS) -e '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	$(PIP) install -c $(CONSTRAINTS) -e '.[test,bench]'
	@touch $@

DEMO := demo_output/single_species
FUTURE := demo_output/future
demo: $(VENV)/.base  ## fit a virtual species, compare the map with the truth, project it to a warmer climate
	$(BIN)/sdm fit configs/single_species.yaml --overwrite
	@echo
	@echo "Comparison with the truth, which is known for a virtual species (400 survey sites, and the true suitability):"
	$(BIN)/sdm evaluate $(DEMO)/Virtualis_montanus.npz --presences sample_data/presence_absence.csv \
		--species "Virtualis montanus" --layers sample_data/layers --truth sample_data/truth/Virtualis_montanus.tif
	@echo
	@echo "Two degrees warmer: where the species may find suitable climate, extrapolation, and change:"
	$(BIN)/sdm project $(DEMO) --scenarios sample_data/warmer --reference sample_data/layers --novelty mess,clamping \
		-o $(FUTURE) --overwrite
	@echo
	@echo "Figures for a paper, from the stored results:"
	$(BIN)/sdm report $(DEMO) --figures pdf
	@echo
	@echo "Report:  $(DEMO)/Virtualis_montanus.html (open it in a browser: everything in one file)"
	@echo "Map:     $(DEMO)/Virtualis_montanus.tif (open it in QGIS) and Virtualis_montanus.png"
	@echo "Curves:  $(DEMO)/plots/ (SVG as in the report, and PDF for print)"
	@echo "Future:  $(FUTURE)/Virtualis_montanus.html (two maps to compare; hatched where the model extrapolates)"
	@echo "Change:  $(FUTURE)/warmer/Virtualis_montanus_change.tif (stable, gain, loss), novelty in mess.tif and mod.tif"

# A file of tests stays in one process, which makes once what its tests share. Files with few tests, which are the slow
# ones, are not kept for the end, when one process would have nothing to do.
SPREAD := --dist loadfile --no-loadscope-reorder
# What tests write (half a gigabyte) is kept in memory where there is room, until they end: a disk confirms every file,
# which takes a twentieth of the time.
ROOM := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "-p /dev/shm" }')
WITH_FOLDER := folder=$$(mktemp -d $(ROOM)) && trap 'rm -rf "$$folder"' EXIT INT TERM && TMPDIR=$$folder
DAILY := -n 2 $(SPREAD) -m "not thorough"
test: check  ## run check, then the daily tests (eight minutes)
	$(WITH_FOLDER) $(BIN)/python -m pytest $(DAILY)

test-all: check  ## run all tests: also faults, fuzz, clusters, browsers, tutorials (before a release)
	$(WITH_FOLDER) HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n 2 $(SPREAD)

# Compiled kernels cannot be watched, so their own tests run once more as plain Python, and both runs are added up. Plain
# Python warns where compiled code, as the processor, computes with infinite numbers.
KERNELS := tests/features tests/maps/test_cells.py tests/models/test_compiled.py tests/novelty/test_novelty.py tests/conditional/test_losses.py \
	$(addprefix tests/maxent/,test_entropy.py paths/test_homotopy.py solvers/test_coordinate.py solvers/test_inner.py) \
	$(addprefix tests/joint/,test_inference.py test_curvature.py)
define measure_coverage
	$(BIN)/coverage erase
	$(WITH_FOLDER) $(BIN)/coverage run -m pytest $(1)
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=few $(BIN)/coverage run -m pytest -m "not thorough" -W ignore::RuntimeWarning $(KERNELS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --fail-under=$(2)
endef
coverage: $(VENV)/.test  ## measure the lines and branches that `make test` reaches, kernels included (at least 88 %)
	$(call measure_coverage,$(DAILY),88)

coverage-all: $(VENV)/.test  ## measure the lines and branches that `make test-all` reaches (at least 93 %)
	$(call measure_coverage,-n 2 $(SPREAD),93)

fuzz: $(VENV)/.test  ## run all commands on 500 damaged files and odd inputs (CASES=…, SEED=…)
	$(BIN)/python tests/helpers/fuzz.py --plain --cases $(or $(CASES),500) --seed $(or $(SEED),1)

check: $(VENV)/.test  ## check lint, format, types, layers and words; change nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tools.words

format: $(VENV)/.test  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.docs  ## write the pages made from the code (not in git), and build the site
	$(BIN)/python -m tools.api_reference
	$(BIN)/python -m tools.option_reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Site: site/index.html (open it in a browser; for the search: python3 -m http.server -d site)"

docs-figures: $(VENV)/.test  ## draw the pictures of the documentation from the sample data (reports need a Chromium)
	$(BIN)/python -m tools.docs_figures

bench: $(VENV)/.bench  ## measure run times as ratios to a floor of the same run (AGAINST=… compares with that commit)
	$(BIN)/python -m benchmarks $(if $(AGAINST),against --commit $(AGAINST),speed engine application)

bench-all: $(VENV)/.bench  ## run all benchmarks (hours); write benchmarks/results
	$(BIN)/python -m benchmarks

clean:  ## remove the environment and all built files
	rm -rf $(VENV) build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis demo_output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
