# Everything here runs on a machine with Python >= 3.11 and make; what else is needed is installed by the targets.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Installs what a file pins into an environment: by uv, which takes a tenth of pip's time as it compiles nothing that nobody imports.
# Only pip knows the registries of its own settings, so that it is asked where uv reaches none.
pinned = $(BIN)/uv pip install --quiet --python $(1)/bin/python --require-hashes -r $(2) \
	|| $(BIN)/python -m pip --python $(1)/bin/python install --quiet --disable-pip-version-check --require-hashes -r $(2)
# One more than there are cores, as many tests wait; what has fixtures in common stays together.
WORKERS = $(shell $(BIN)/python -c 'import os; print(os.cpu_count() + 1)')
EVERYDAY := not rasa and not image and not bench

# A machine that forbids byte code would compile TensorFlow anew at each start of Rasa, and every test process its imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check accept page pictures site test tests test-image test-rasa bench replay fuzz mutants interrupts lint format pins dist release release-check clean

# Two floors: what a run needs, and what work on turncheck needs. Each is installed when what it lists has changed.
$(VENV)/.run: requirements/run.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found: install one, or name it: make PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements/test.txt | $(INSTALL) --require-hashes -r /dev/stdin
	$(call pinned,$(VENV),requirements/run.txt)
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run requirements/test.txt requirements/vectors.txt
	$(call pinned,$(VENV),requirements/test.txt)
	$(INSTALL) --require-hashes --no-deps -r requirements/vectors.txt
	$(BIN)/python -m compileall -q src
	@touch $@

demo: $(VENV)/.run
	$(BIN)/turncheck run --project examples/pizzeria --out results/demo --json results/demo/report.json

# What to run after each change; the first time takes longer, as mypy remembers nothing yet. With CHANGED=1 only the tests
# whose imports lead to what differs from origin/main (CHANGED=COMMIT: from that).
since = $(if $(filter 1,$(CHANGED)),origin/main,$(CHANGED))
checked = $(if $(CHANGED),$$($(BIN)/python -m tools.reached_tests --since $(since) tests/unit),tests/unit)
check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src
	$(BIN)/lint-imports
	@tests="$(checked)"; test -z "$$tests" || $(BIN)/pytest $$tests -q -n auto -m "$(EVERYDAY) and not slow"

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# The files with a test of this marker: collecting all others takes longer than some of their tests.
marked = $(shell grep -rl --include='test_*.py' 'mark\.$(1)\b' tests)

# mypy has one core: what it leaves of the others is for the tests.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory -j 2 lint tests

tests: $(VENV)/.compiled
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "$(EVERYDAY)"

# Once, beside mypy: each worker would write byte code with the assertions' messages for itself.
# What cannot be collected is said by the tests.
$(VENV)/.compiled: $(VENV)/.test
	@$(BIN)/pytest -p no:xdist --collect-only -q >/dev/null || true
	@touch $@

# The files that compare wordings, and those that did: their texts go.
accepting = $(sort $(shell grep -rl --include='test_*.py' 'golden: Golden' tests) \
	$(foreach text,$(wildcard tests/*/golden/*.txt),$(shell find $(patsubst %/golden/,%,$(dir $(text))) \
	-name test_$(basename $(notdir $(text))).py)))

# Accepts the wordings and documents that the tests have now; `git diff` shows what has changed.
accept: $(VENV)/.test
	$(BIN)/python tests/unit/accept_golden.py
	$(BIN)/pytest -q --accept -m "golden and $(EVERYDAY)" $(accepting)

test-image: $(VENV)/.test
	$(BIN)/pytest -m image $(call marked,image)

# Installs Rasa 3.6.21 below .cache/, trains and serves it; RASA_PYTHON names the Python of one that is there already.
# Two files at once: Rasa uses one core for most of its time, and a gigabyte of memory.
test-rasa: $(VENV)/.test
	$(BIN)/pytest -m rasa -n 2 --dist loadfile --durations=10 $(call marked,rasa)

pins: $(VENV)/.test
	$(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header \
		--group test pyproject.toml -o requirements/test.txt >/dev/null
	$(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header \
		--group build pyproject.toml -o requirements/run.txt >/dev/null
	$(BIN)/uv pip compile --quiet --python-version 3.10 --generate-hashes --no-header --no-annotate \
		requirements/rasa.in -o requirements/rasa.txt >/dev/null
	$(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header --no-annotate --no-deps \
		requirements/vectors.in -o requirements/vectors.txt >/dev/null
	$(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header --no-annotate \
		requirements/release.in -o requirements/release.txt >/dev/null

# The script of report.html, after a change in page/src.
page: $(VENV)/.test
	$(BIN)/python tools/build_page.py

# The pictures of the documentation, after a change of what they show (a test says when).
pictures: $(VENV)/.test
	$(BIN)/python tools/make_pictures.py

# The documentation site, in site/; its notice is about a version of mkdocs that the theme does not use.
site: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Wheel and source distribution of the commit that is checked out: the same bytes, wherever and whenever.
dist: $(VENV)/.run
	$(BIN)/python -m tools.release package

# Whether the commit that is checked out could be released: on origin's main, and everything in it names one version.
release-check: $(VENV)/.run
	$(BIN)/python -m tools.release check

# A step of the release, with what it needs (tools/release/README.md): make release STEP=build
release: $(VENV)/.run .venv-release/.ready
	@PATH="$(CURDIR)/.venv-release/bin:$$PATH" $(BIN)/python -m tools.release $(STEP)

.venv-release/.ready: requirements/release.txt $(VENV)/.run
	$(BIN)/python -m venv --clear --without-pip .venv-release
	$(call pinned,.venv-release,requirements/release.txt)
	@touch $@

bench: $(VENV)/.test
	$(BIN)/pytest --timing -m "timing or bench"
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/older_formats.py
	$(BIN)/python benchmarks/validation.py
	$(BIN)/python benchmarks/nlu.py
	$(BIN)/python benchmarks/small_data.py
	$(BIN)/python benchmarks/languages.py
	$(BIN)/python benchmarks/few_shot.py
	$(BIN)/python benchmarks/training_growth.py
	$(BIN)/python benchmarks/cross_validation.py
	$(BIN)/python benchmarks/dialogue.py
	$(BIN)/python benchmarks/base.py
	$(BIN)/python benchmarks/sentence_added.py
	$(BIN)/python benchmarks/causes.py
	$(BIN)/python benchmarks/kore.py
	$(BIN)/python benchmarks/strength.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/image.py
	$(BIN)/python benchmarks/composite.py

# Commits of public assistants, replayed as pull requests: make replay MIRRORS=DIR (tools/replay.py says what is in it)
replay: $(VENV)/.test
	@test -n "$(MIRRORS)" || { echo "Name the folder of the repositories: make replay MIRRORS=DIR" >&2; exit 2; }
	$(BIN)/python -m tools.replay "$(MIRRORS)" --workers 2

fuzz: $(VENV)/.test
	$(BIN)/python -m tools.fuzz

# Breaks what guards gates and secrets, a place at a time: tests should notice. About two hours.
mutants: $(VENV)/.test
	$(BIN)/python -m tools.mutants --seed $(or $(SEED),1)

# Interrupts hundreds of runs at random moments; about half an hour.
interrupts: $(VENV)/.test
	$(BIN)/python tools/interrupts.py

clean:
	rm -rf $(VENV) .venv-release results build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
