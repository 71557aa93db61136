# nodegate: build, test and measure. `make help` lists the targets.

GO ?= go
# Packages that don't link the chain engine: the race detector is cheap on them.
LIGHT = . ./internal/accounts/account/... ./internal/accounts/alert/... ./internal/rpc/blocktag/... ./internal/localca/... ./internal/background/... ./internal/budget/... ./internal/rpc/chain/lane/... ./internal/disk/... ./internal/fairshare/... ./internal/config/... ./internal/dashboard/... ./internal/accounts/auth/... ./internal/accounts/requestlog/... ./internal/rpc/jsonrpc/... ./internal/accounts/mailer/... ./internal/accounts/ratelimit/... ./internal/obs/... ./internal/method/permit/... ./internal/rpc/fastpath/... ./internal/store/redisstore/... ./internal/rpc/rollup/... ./internal/ipfs/gateway/... ./internal/accounts/usage/... ./internal/accounts/credential/... ./internal/web/... ./internal/rpc/ws/... ./internal/rpc/edge/... ./internal/index/...
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 30s

.PHONY: help build run test quick race lint fuzz chaos bench bench-rpc bench-storage bench-gateway bench-dashboard docs clean

#? help: list the targets
help:
	@sed -n 's/^#?/ /p' $(MAKEFILE_LIST)

#? build: build ./nodegate
build:
	CGO_ENABLED=0 $(GO) build -trimpath -o nodegate ./cmd/nodegate

#? run: start on the embedded defaults (the same as go run ./cmd/nodegate)
run:
	$(GO) run ./cmd/nodegate

#? test: everything that has to hold, under 20 minutes on two cores from a cold cache
test:
	@GO="$(GO)" LIGHT="$(LIGHT)" ./test/run

#? quick: gofmt, vet and the short tests, without installing anything; the loop while working
quick:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GO) test -short $$($(GO) list ./internal/... ./cmd/... ./test/house ./test/docs .)

#? race: all tests under the race detector (needs gcc; some minutes more)
race:
	CGO_ENABLED=1 $(GO) test -race -timeout 40m ./...

#? lint: gofmt, vet, staticcheck; the import rules are a test (test/house)
lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-ed:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test ./test/house

#? fuzz: every fuzz target for FUZZTIME each (default 30s)
fuzz:
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" ./test/fuzz

#? chaos: kill, starve and fill the real program; prints a table of faults (about 15 minutes)
chaos:
	$(GO) test -count=1 -run 'TestPowerCut|TestFailing|TestFailedSync|TestCollectOnFullDisk' ./internal/ipfs/blockstore
	NODEGATE_CHAOS=1 $(GO) test -count=1 -timeout 40m -v ./test/chaos

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

#? docs: rewrite the generated pages
docs:
	$(GO) test ./internal/config -run TestDocsPage -update

#? clean: remove what was built here; never the data folder
clean:
	rm -rf nodegate bench/out
