# nodegate: build, test and measure. `make help` lists the targets.

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 30s
# The rows of faults of nodes, which print what they measured.
NODE_ROWS = Fresh|Servers|PendingNonces|FiltersOfTheService|ErrorsOfOneNode|CappedLogs|DeadSideNetwork|Liar|Lies
SHELL := bash

.PHONY: help build run test race full quick lint fuzz chaos bench bench-rpc bench-storage bench-gateway bench-dashboard bench-logs bench-ledger bench-growth gateway-suite docs release release-check clean

#? help: list the targets
help:
	@sed -n 's/^#?/ /p' $(MAKEFILE_LIST)

#? build: build ./nodegate
build:
	CGO_ENABLED=0 $(GO) build -trimpath -o nodegate ./cmd/nodegate

#? run: start on the embedded defaults (the same as go run ./cmd/nodegate)
run:
	$(GO) run ./cmd/nodegate

#? test: all checks and tests, meant to end within 25 minutes on two cores from a cold cache; NO_INSTALL=1 installs nothing
test:
	@GO="$(GO)" STATICCHECK="$(STATICCHECK)" NO_INSTALL="$(NO_INSTALL)" ./test/run

#? race: tests of whole servers, and of what links the chain engine, under the race detector; make test has all other packages
race:
	@GO="$(GO)" ./test/race

#? full: make test with all tests of all packages under the race detector, and the tests with Hardhat, indexers, IPFS tools, Kubo's command line and axe-core
full:
	@GO="$(GO)" STATICCHECK="$(STATICCHECK)" NO_INSTALL="$(NO_INSTALL)" FULL=1 ./test/run

#? quick: gofmt, vet and the tests that take a moment, without installing anything; the loop while working
quick:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	TEST_QUICK=1 $(GO) test -short -vet=off -p $$(($$(nproc) + 1)) $$($(GO) list ./internal/... ./cmd/... ./test/house ./test/docs ./test/methods .)

#? lint: gofmt, vet, staticcheck; the import rules are a test (test/house)
lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test ./test/house

#? fuzz: every fuzz target for FUZZTIME each (default 30s)
fuzz:
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" ./test/fuzz

#? chaos: kill, starve and fill the real program; prints a table of faults (about 20 minutes)
chaos:
	@status=0; \
	NODEGATE_FULL=1 $(GO) test -count=1 -run 'TestPowerCut|TestFailing|TestFailedSync|TestCollectOnFullDisk' ./internal/ipfs/blockstore || status=$$?; \
	NODEGATE_CHAOS=1 $(GO) test -count=1 -timeout 40m -v ./test/chaos || status=$$?; \
	NODEGATE_CHAOS=1 $(GO) test -count=1 -timeout 20m -v -run '$(NODE_ROWS)' ./internal/rpc/upstream/pool ./test/upstream ./test/nodes ./test/clients | grep -E 'row [0-9]+:|^(ok|FAIL)|--- FAIL'; part=$${PIPESTATUS[0]}; [ "$$part" -eq 0 ] || status=$$part; \
	exit $$status

# Benchmarks measure what make build makes, which is without C.
bench bench-rpc bench-storage bench-gateway bench-dashboard bench-logs bench-ledger bench-growth: export CGO_ENABLED = 0

#? bench: what each request pays for keys, limits and usage, and what guessing keys costs
bench:
	$(GO) run ./bench/accounts

#? bench-rpc: the nine methods against go-ethereum's own API in the same run
bench-rpc:
	$(GO) run ./bench/rpc

#? bench-storage: the storage gateway over HTTP; with KUBO_API=URL the same work on that Kubo
bench-storage:
	$(GO) run ./bench/storage

#? bench-gateway: before a remote node, beside nginx and the node itself (apt-get install nginx)
bench-gateway:
	$(GO) run ./bench/gateway

#? bench-dashboard: how long and how large the pages are with a million rows of usage (some minutes)
bench-dashboard:
	$(GO) run ./bench/dashboard

#? bench-logs: the ledger's index of logs against go-ethereum's filter maps, and log queries against Geth (some minutes)
bench-logs:
	$(GO) run ./bench/logindex -blocks 100000
	$(GO) run ./bench/logindex -geth 10000

#? bench-ledger: the ledger's lookups beside a forwarded call, Geth, nginx and the embedded chain; what it ingests; disk and log queries against Geth
bench-ledger:
	$(GO) run ./bench/rpc -ledger
	$(GO) test -run '^$$' -bench Ingest -benchtime 64x ./internal/rpc/ledger
	$(GO) run ./bench/logindex -geth 10000

#? bench-growth: 1, 10 and 100 times as many keys, accounts, open WebSockets, usage rows, stored blocks and ledger blocks; OF=keys,usage measures only some (the ledger takes about 4 GB of disk)
bench-growth:
	$(GO) run ./bench/growth -of "$(OF)"

#? gateway-suite: IPFS' gateway-conformance against the read gateway; SUITE=PROGRAM names it if it is not in the PATH
gateway-suite:
	@suite="$(or $(SUITE),$$(command -v gateway-conformance))"; \
	if [ -z "$$suite" ]; then echo "gateway-conformance is not on this machine: see https://github.com/ipfs/gateway-conformance"; exit 0; fi; \
	NODEGATE_GATEWAY_SUITE="$$suite" $(GO) test -count=1 -v -run TestGatewaySuite ./test/storage

#? docs: rewrite the generated pages
docs:
	$(GO) test ./internal/config -run TestDocsPage -update
	$(GO) test ./test/docs -run TestMetricsPage -update

#? release: archives for Linux and macOS with checksums and SBOMs, in dist/; PLATFORMS="linux/amd64" builds fewer
release:
	@GO="$(GO)" ./tools/release

#? release-check: build one platform twice, the second time with an empty build cache, and compare (about ten minutes)
release-check:
	@GO="$(GO)" CHECK=1 ./tools/release

#? clean: remove what was built here; never the data folder
clean:
	rm -rf nodegate bench/out dist
