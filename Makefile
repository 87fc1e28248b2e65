# mailbench: make help lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Without its folder in them, packages are the same in every clone: Go's build cache has
# those that another clone built.
export GOFLAGS += -trimpath
# Linters are pinned in a module file of their own, so that they are no
# dependencies of mailbench.
TOOL := $(GO) tool -modfile=.ci/tools/go.mod
FUZZTIME ?= 30s
BENCHTIME ?= 1s

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: ## run all tests, what is concurrent under the race detector too, with real engines where Java and Maven are
	GO='$(GO)' .ci/test -timeout 15m

# Not the tests that compile mailbench anew, kill it or fill its memory, nor those of many seconds.
SLOW = Alone$$|Theory|^TestKills|^TestMemory$$|^TestModule$$|^TestFindMax$$|^TestScripts$$/^compare_(ci|git|turns)$$
.PHONY: test-fast
test-fast: ## run the tests that need no server, without the race detector (under 2 minutes)
	MAILBENCH_TEST_ENGINES= MAILBENCH_TEST_CASSANDRA= MAILBENCH_TEST_CASSANDRA3= MAILBENCH_TEST_HBASE= MAILBENCH_TEST_HBASE2= MAILBENCH_REQUIRE_ENGINES= \
		$(GO) test -timeout 5m -vet=off -skip '$(SLOW)' ./cmd ./workloads/run ./...

.PHONY: lint
lint: cross ## vet for all systems, staticcheck, gofumpt, import layers, go.mod, shell syntax
	$(TOOL) staticcheck ./...
	@echo 'gofumpt -l .'; unformatted=$$($(TOOL) gofumpt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt does it):"; echo "$$unformatted"; exit 1; fi
	$(GO) test -run "Layers|LineLength" .
	$(GO) mod tidy -diff
	$(GO) mod verify
	bash -n .ci/run .ci/readme .ci/test .ci/bench .ci/fuzz .ci/grow docs/ci/compare.sh

# go vet compiles all code and all tests. Without cgo no cross compiler is needed.
SYSTEMS := linux/amd64 linux/arm64 darwin/arm64 darwin/amd64
.PHONY: cross
cross: ## vet for this system; vet and link for SYSTEMS without cgo
	$(GO) vet ./...
	@for system in $(SYSTEMS); do \
		echo "go vet for $$system"; \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) vet ./...; \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) build -o /dev/null ./cmd/mailbench; \
	done

.PHONY: fmt
fmt: ## format the Go files
	$(TOOL) gofumpt -w .

.PHONY: build
build: ## build bin/mailbench
	$(GO) build -o bin/ ./cmd/mailbench

.PHONY: bench
bench: ## run the Go benchmarks (BENCHTIME=1s each)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 60m ./...

# Half an hour each, on a machine that has nothing else to do.
BLOCKS ?= 15
BLOCK ?= 10s
.PHONY: bench-cassandra bench-hbase
bench-cassandra: ## compare the driver with a bare gocql loop (BLOCKS=15 pairs, BLOCK=10s)
bench-hbase: ## compare the driver with a bare gohbase loop (BLOCKS=15 pairs, BLOCK=10s)
bench-cassandra bench-hbase: bench-%:
	GO='$(GO)' .ci/bench $* $(BLOCKS) $(BLOCK)

# Kill KILLS runs at random moments, and as many that purge, spread over all models, and audit
# what each leaves: 1 to 2 s a kill.
KILLS ?= 200
.PHONY: kills
kills: ## kill runs at random moments, and in purges, and audit what they leave (KILLS=200 of each)
	MAILBENCH_KILLS=$(KILLS) $(GO) test -run '^TestKills(OfPurges)?$$' -count 1 -v -timeout 2h ./cmd

.PHONY: memory-check
memory-check: ## what 32 clients take with large hostile mail: all models, one operation after the other; 10 minutes
	MAILBENCH_MEMORY=all $(GO) test -run '^TestMemory$$' -count 1 -v -timeout 1h ./cmd

# Hours, on clusters that it boots. Each round is written to FAULTS; what is there is not done again.
# FAULT picks some of it (cassandra/node, hbase/hang, embedded). Disks are filled and slowed, and
# connections cut, by root only.
FAULTS ?= bin/faults.jsonl
FAULT ?= .
MOST ?= 200
.PHONY: faults
faults: ## kill, stop, fill, slow and cut off engines under load, and print what was lost (FAULT=regexp, MOST=200 of each)
	@mkdir -p $(dir $(FAULTS))
	MAILBENCH_FAULTS=$(abspath $(FAULTS)) MAILBENCH_FAULT_MOST=$(MOST) MAILBENCH_TEST_ENGINES=1 \
		$(GO) test -run '^TestFaults$$/$(FAULT)' -count 1 -v -timeout 12h ./cmd

COMPARISONS ?= 1000
.PHONY: compare-check
compare-check: ## simulate comparisons: rates of false alarms and of slow-downs found (COMPARISONS=1000)
	$(GO) test ./reports/compare -run TestRatesAgreeWithTheory -count 1 -v -timeout 2h -comparisons $(COMPARISONS)

# Needs Python 3.9 or newer and pip, and fetches about 100 MB. OTAVA is the version that docs/history.md speaks of.
OTAVA ?= 0.8.0
HISTORIES ?= 1000
.PHONY: otava-check history-check
otava-check: ## let Apache Otava, in a temporary Python environment, find a known change in what history --otava writes
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	python3 -m venv "$$work" && "$$work/bin/pip" install --quiet --disable-pip-version-check 'apache-otava==$(OTAVA)'; \
	MAILBENCH_OTAVA="$$work/bin/otava" $(GO) test ./reports/history -run '^TestOtavaItself$$' -count 1 -v

history-check: ## simulate histories: rates of false alarms and of changes found (HISTORIES=1000)
	$(GO) test ./reports/history -run '^TestRates$$' -count 1 -v -timeout 2h -histories $(HISTORIES)

# Some minutes a model, and 3 GB of disk (TMPDIR), on a machine that has nothing else to do.
MESSAGES ?= 1000000
MODELS ?= all
.PHONY: grow-check
grow-check: ## load a folder of MESSAGES=1000000 messages in two steps, MODELS=all; time, CPU, memory and disk as a table
	@GO='$(GO)' .ci/grow $(MESSAGES) $(MODELS)

FILES ?= $(HOME)/.cache/mailbench/engines

.PHONY: forecast-check
forecast-check: ## compare forecasts with the files of a Cassandra and an HBase that "mailbench engine up" started (FILES=folder)
	MAILBENCH_TEST_CASSANDRA=$${MAILBENCH_TEST_CASSANDRA:-127.0.0.1:9042} MAILBENCH_TEST_HBASE=$${MAILBENCH_TEST_HBASE:-127.0.0.1:2181} \
	MAILBENCH_REQUIRE_ENGINES=1 $(GO) test ./workloads/population -count=1 -timeout 20m -run 'TestPebble|TestLive' -v -files $(FILES)

.PHONY: test-auth
test-auth: ## run the tests of logins and TLS, on a Cassandra that it starts (about a minute)
	@work=$$(mktemp -d); trap '$(GO) run ./cmd/mailbench engine down cassandra --dir "$$work/c" --purge; rm -rf "$$work"' EXIT; \
	$(GO) run ./cmd/mailbench engine up cassandra --auth --port 0 --dir "$$work/c" >/dev/null; \
	MAILBENCH_TEST_CASSANDRA_AUTH="$$work/c" $(GO) test ./drivers/cassandra -count=1 -v -run '^TestAuth$$'

# Boots an HBase from the Maven artifacts in namespaces of its own, as docker/ says: half a minute, 1 GB.
.PHONY: netns-check
netns-check: ## reach the HBase of docker/compose.yaml from outside of its container, without Docker (Linux, root)
	MAILBENCH_NETNS=1 $(GO) test ./drivers/hbase -count=1 -v -timeout 20m -run '^TestContainer$$'

# CI does 20 of each engine. Cassandra and HBase are those of MAILBENCH_TEST_CASSANDRA and MAILBENCH_TEST_HBASE.
OPENS ?= 1000
.PHONY: opens
opens: ## open and close each engine OPENS=1000 times; goroutines, connections and files must be the same after it
	MAILBENCH_OPENS=$(OPENS) $(GO) test ./drivers/pebble ./drivers/cassandra ./drivers/hbase -count=1 -v -timeout 2h -run '^TestClosing$$'

# Read the difference before it is committed: these are the jars that engine up runs.
.PHONY: jars
jars: ## fetch the jars of Cassandra and HBase with mvn and write the list of their SHA-256 anew
	$(GO) test ./drivers/launch -count=1 -run '^TestJarLists$$' -update-jars

# Some 20 tests, one after another, each on FUZZPARALLEL processors. One that fails ends
# nobody else's time; its input is in testdata/fuzz of its package.
FUZZPARALLEL ?= 2
FUZZ ?= .
.PHONY: fuzz fuzz-long
fuzz: ## run every fuzz test (FUZZTIME=30s each, FUZZ=regexp of their names)
fuzz-long: FUZZTIME = 1h
fuzz-long: ## run every fuzz test for long, and print what came of it as a table (FUZZTIME=1h each)
fuzz fuzz-long:
	GO='$(GO)' .ci/fuzz $(FUZZTIME) $(FUZZPARALLEL) '$(FUZZ)'

.PHONY: ci
ci: ## what CI runs: tests, linters, the README's commands
	.ci/run
