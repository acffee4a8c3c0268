# `make` alone says what there is. Every target installs what it needs first (Scripts/setup.sh).
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Arguments of the program that a target runs: make demo ARGS="--keep"
ARGS ?=
DEBUG := .build/debug

.PHONY: help setup demo up build test test-unit test-package lint format bench fuzz mutants nightly release clean

help: ## Say what there is
	@echo 'A complete PowerSync stack in Swift: client SDK, upload backend, mock sync service, wire models.'
	@echo
	@echo 'Start here:  make demo    everything at work in a minute or two, no setup, nothing left behind'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Arguments go through ARGS:        make demo ARGS=--help'
	@echo 'One part alone (CONTRIBUTING.md): POWERSYNC_ONLY=SQLite make test-unit'

setup: ## Install missing system packages (the other targets do so themselves)
	@Scripts/setup.sh

demo: setup ## Run the whole stack once: devices, backend, service and Postgres in one story
	@echo 'Building (some minutes after a fresh clone)…'
	@swift build --product powersync-stack
	@$(DEBUG)/powersync-stack demo $(ARGS)

up: setup ## Run Postgres, backend and service until Ctrl-C, for an app of yours
	@swift build --product powersync-stack
	@exec $(DEBUG)/powersync-stack up $(ARGS)

build: setup ## Build everything for debugging
	@swift build

test: setup ## Run all tests, with a private Postgres that is gone afterwards
	@Scripts/test.sh $(ARGS)

test-unit: export POWERSYNC_TESTS := unit
test-unit: setup ## Run the tests that need no network and no database (at most a minute once built)
	@Scripts/test.sh $(ARGS)

test-package: setup ## Build and run a package outside of this one that depends on it, as README.md says
	@Scripts/outside-package.sh

lint: ## Check format, documentation, arrows between parts, compose file, and that nothing leads outside
	@Scripts/lint.sh

format: ## Format all Swift files in place
	@swift format --in-place --recursive --parallel $(wildcard *.swift Wire Platform Client Backend MockService Stack Tests Benchmarks Examples)

bench: setup ## Measure the client beside bare loops on the same SQLite (release build, about ten minutes)
	@swift run -c release PowerSyncBenchmarks $(ARGS)

fuzz: setup ## Feed the decoders of sync lines with mutated lines for ten minutes (FUZZ_SECONDS=60 for one)
	@Scripts/fuzz.sh $(ARGS)

mutants: setup ## Plant mistakes in a copy of the sources; the random sessions must notice each
	@Scripts/mutants.sh $(ARGS)

nightly: setup ## Run the long forms: 10,000 random sessions, 200 crashes, mutants, fuzzing (half an hour)
	@POWERSYNC_ONLY=Client POWERSYNC_PROPERTY_SEEDS=10000 POWERSYNC_CRASHES=200 \
		Scripts/test.sh --filter 'SyncPropertyTests|CrashTests'
	@Scripts/mutants.sh
	@Scripts/fuzz.sh

release: setup ## Build small, static executables into .build/dist
	@Scripts/release.sh

clean: ## Remove everything that was built
	@swift package clean
	@rm -rf .build/dist .build/lint-venv .build/test.log
