# mailbench: make help lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Without its folder in them, packages are the same in every clone: Go's build cache has
# those that another clone built.
export GO
export GOFLAGS += -trimpath
# Linters are pinned in a module file of their own, so that they are no
# dependencies of mailbench.
TOOL := $(GO) tool -modfile=.ci/tools/go.mod

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/mailbench
	$(GO) build -o bin/ ./cmd/mailbench

.PHONY: release
release: ## build the archives of a release into dist (VERSION=v0.1.0), with checksums and SBOMs
	.ci/release "$(VERSION)" dist $(SYSTEMS)

.PHONY: test
test: ## run all tests, concurrent ones under the race detector too, with real engines where Java and Maven are
	.ci/test -timeout 25m

.PHONY: campaigns
campaigns: ## kill mailbench and engines under load, and verify the state after, with real engines where Java and Maven are
	MAILBENCH_CAMPAIGNS=only .ci/test -timeout 25m

# Not the tests that compile mailbench again, kill it or fill its memory, nor those of many seconds.
SLOW = Alone$$|Theory|^TestKills|^TestMemory(OfHugeMail)?$$|^TestModule$$|^TestFindMax$$|^TestRelease$$|^TestScripts$$/^(compare_(ci|turns)|ci_uses)$$
.PHONY: test-fast
test-fast: ## run the tests that need no server, without the race detector (some minutes)
	MAILBENCH_TEST_ENGINES= MAILBENCH_TEST_CASSANDRA= MAILBENCH_TEST_CASSANDRA3= MAILBENCH_TEST_HBASE= MAILBENCH_TEST_HBASE2= MAILBENCH_REQUIRE_ENGINES= \
		$(GO) test -timeout 5m -vet=off -skip '$(SLOW)' ./cmd ./workloads/run ./.ci ./...

SYSTEMS := linux/amd64 linux/arm64 darwin/arm64 darwin/amd64 windows/amd64 windows/arm64
# go vet compiles all code and all tests. Without cgo no cross compiler is needed. No file of ours depends on
# the processor, so each system is compiled for one: "make release" builds all of them.
LINTED := linux/arm64 darwin/arm64 windows/amd64
.PHONY: lint
lint: ## vet and link for LINTED, staticcheck, gofumpt, import layers, width of lines, words, go.mod, shell syntax
	$(GO) vet ./...
	$(GO) vet -tags campaigns ./cmd/campaigns
	$(GO) vet ./.ci ./.ci/findings
	@for system in $(LINTED); do \
		echo "go vet for $$system"; \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) vet ./...; \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) build -o /dev/null ./cmd/mailbench; \
	done
	$(TOOL) staticcheck ./... ./.ci
	@echo 'gofumpt -l .'; unformatted=$$($(TOOL) gofumpt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt does it):"; echo "$$unformatted"; exit 1; fi
	$(GO) test -run "Layers|TestsOnly|LineLength|Words" ./.ci
	$(GO) mod tidy -diff
	$(GO) mod verify
	for script in docs/ci/*.sh; do bash -n "$$script"; done
	bash -n .ci/run .ci/readme .ci/test .ci/bench .ci/check .ci/firstruns .ci/fuzz .ci/grow .ci/vulns .ci/images

.PHONY: fmt
fmt: ## format the Go files
	$(TOOL) gofumpt -w .

# The paired comparison takes half an hour, on a machine that has nothing else to do.
BENCHTIME ?= 1s
BLOCKS ?= 15
BLOCK ?= 10s
.PHONY: bench
bench: ## run the Go benchmarks (BENCHTIME=1s each); ENGINE=cassandra or hbase: its driver and a bare loop, interleaved (BLOCKS=15, BLOCK=10s)
	$(if $(ENGINE),.ci/bench $(ENGINE) $(BLOCKS) $(BLOCK),$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 60m ./...)

# Some 20 tests, one after another, each on FUZZPARALLEL processors. One that fails ends
# no other test; its input is in testdata/fuzz of its package.
FUZZTIME ?= 30s
FUZZPARALLEL ?= 2
FUZZ ?= .
.PHONY: fuzz
fuzz: ## run every fuzz test and print a table (FUZZTIME=30s each, FUZZ=regexp of their names)
	.ci/fuzz $(FUZZTIME) $(FUZZPARALLEL) '$(FUZZ)'

.PHONY: check
check: ## run one of the long checks, such as CHECK=kills; without CHECK list them
	@.ci/check $(CHECK)

.PHONY: findings
findings: build ## measure the values of docs/findings.md and docs/models.md again (a quarter of an hour; the machine must be quiet for times)
	$(GO) run ./.ci/findings

.PHONY: ci
ci: ## what CI runs: tests, linters, the README's commands
	.ci/run
