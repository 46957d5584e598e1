# Everything a person or a machine does with this checkout. `make` alone lists the targets.
PYTHON ?= python3
SEED ?= 0
ONLY ?=
SCALE ?= 1
RUNS ?= 700
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench bench-learning bench-ablation bench-gradient contracts contracts-check fuzz docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Zoo Gym needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@echo "setting up $(VENV) (a minute or two, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable '.[local,ray,embeddings,web,train,dao,federated]' --group dev --constraint constraints.txt
	@touch $@

demo: $(READY) ## learn a library on the embedded model and measure it (SEED=0; 10 to 15 minutes on 2 cores)
	@$(BIN)/gym model get qwen2.5-coder-1.5b
	@$(BIN)/gym train configs/demo.yaml --seed $(SEED) --experiment-name demo-seed-$(SEED)

NODE_READY := contracts/node_modules/.package-lock.json
$(NODE_READY): contracts/package.json contracts/package-lock.json
	@if command -v npm >/dev/null; then npm ci --silent --prefix contracts && touch $@; \
	else echo "no npm (Node 18 or newer): tests against a local Ethereum node are skipped"; fi

IPFS_READY := .venv-ipfs/.ready
.venv-ipfs: $(IPFS_READY)
$(IPFS_READY): tests/dao/ipfs-requirements.txt
	@$(PYTHON) -m venv .venv-ipfs
	@.venv-ipfs/bin/python -m pip install --quiet --requirement $< && touch $@ || \
	echo "no IPFS node for the tests (it needs a C compiler and libgmp-dev): those against one are skipped"

test: $(READY) $(NODE_READY) $(IPFS_READY) ## all tests, with a real model server, a chain and an IPFS node on loopback
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup

check: $(READY) ## lint, formatting, types, layers, generated docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/make_docs.py --check

contracts: $(NODE_READY) ## compile contracts/ into the package's artefact (needs npm; commit the result)
	@node contracts/build.js

contracts-check: $(NODE_READY) ## compile again and compare byte for byte (needs npm)
	@node contracts/build.js --check && echo "the artefact is what contracts/ compiles to"

fuzz: $(READY) $(NODE_READY) ## 70,000 random calls against each invariant of the contracts (6 minutes; RUNS=10 for 1,000)
	@cd contracts && FOUNDRY_INVARIANT_RUNS=$(RUNS) "$$($(CURDIR)/$(BIN)/python -c 'from gym.dao.local_node import find_foundry; print(find_foundry("forge"))')" test

format: $(READY) ## format the code in place
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

docs: $(READY) ## write the generated pages (command line, configuration)
	@$(BIN)/python scripts/make_docs.py

bench: $(READY) ## benchmarks, each beside its reference (ONLY=throughput for one, SCALE=0.1 for a quick look)
	@$(BIN)/python -m bench $(ONLY) --scale $(SCALE)

bench-learning: SCALE = 0.5
bench-learning: $(READY) ## what is learned on the embedded model, beside an oracle, the plain loop and gepa (hours; resumes; SCALE=1)
	@$(BIN)/gym model get qwen2.5-coder-1.5b
	@$(BIN)/python -m bench.learning --scale $(SCALE)

bench-ablation: $(READY) ## what each lever of our settings is worth on the embedded model (hours; resumes)
	@$(BIN)/gym model get qwen2.5-coder-1.5b
	@$(BIN)/python -m bench.ablation
	@$(BIN)/python -m bench.ablation --of paper

bench-gradient: $(READY) ## a library, LoRA and gradient GRPO on one small model, side by side (under an hour; resumes)
	@$(BIN)/gym model get qwen2.5-coder-1.5b
	@$(BIN)/python -m bench.gradient

clean: ## remove the environment and caches; runs under output/ stay
	@rm -rf $(VENV) .venv-ipfs contracts/node_modules build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
