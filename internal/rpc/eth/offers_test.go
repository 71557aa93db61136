package eth

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// always are served on every network.
const always = `eth_chainId eth_blockNumber eth_getBlockByNumber eth_getBlockByHash eth_getBalance eth_getCode eth_getTransactionCount
	eth_sendRawTransaction eth_gasPrice eth_maxPriorityFeePerGas eth_feeHistory eth_syncing eth_simulateV1 eth_blobBaseFee
	eth_newBlockFilter eth_newPendingTransactionFilter eth_getFilterChanges eth_uninstallFilter eth_getBlockTransactionCountByNumber
	eth_getBlockTransactionCountByHash eth_getTransactionByBlockNumberAndIndex eth_getUncleCountByBlockNumber eth_getRawTransactionByHash eth_getRawTransactionByBlockHashAndIndex
	eth_getStorageValues eth_config eth_unheardOf net_version net_listening net_peerCount web3_clientVersion web3_sha3`

// switchable are served where the network's configuration turns their namespace on.
const switchable = `debug_traceTransaction debug_traceCall debug_traceBlockByNumber debug_traceBlockByHash debug_getRawBlock debug_getRawReceipts
	debug_storageRangeAt trace_block trace_filter ots_getApiLevel ots_traceTransaction erigon_getHeaderByNumber txpool_content txpool_status evm_mine evm_snapshot evm_revert evm_increaseTime`

// never are served nowhere: they sign, touch the server's files or its chain, or
// are no methods at all.
const never = `eth_sign eth_signTransaction eth_signTypedData eth_signTypedData_v4 eth_sendTransaction eth_resend
	debug_setHead debug_chaindbCompact debug_dumpBlock debug_writeMemProfile debug_startCPUProfile debug_goTrace debug_freeOSMemory
	debug_standardTraceBlockToFile debug_traceBlockFromFile debug_setGCPercent debug_verbosity
	admin_addPeer admin_nodeInfo admin_startHTTP personal_unlockAccount personal_sign personal_newAccount
	engine_newPayloadV3 engine_forkchoiceUpdatedV3 miner_start miner_setGasPrice
	erigon_cacheCheck erigon_forks clique_propose les_addBalance dev_addWithdrawal rpc_modules layer2_estimateGas linea_estimateGas
	eth ETH_chainId Eth_chainId _chainId chainId Debug_traceCall EVM_mine`

func TestOffers(t *testing.T) {
	plain := func(name string) bool { return method.Offered(name, limits(Spec).Namespaces) }
	open := func(name string) bool {
		return method.Offered(name, []string{"debug", "trace", "txpool", "ots", "erigon", "evm"})
	}
	for _, c := range []struct {
		methods        string
		onPlain, onAll bool
	}{{always, true, true}, {switchable, false, true}, {never, false, false}} {
		for _, name := range strings.Fields(c.methods) {
			if got := plain(name); got != c.onPlain {
				t.Errorf("%s is served on a plain network: %v", name, got)
			}
			if got := open(name); got != c.onAll {
				t.Errorf("%s is served where all namespaces are on: %v", name, got)
			}
		}
	}
}

// A key with the scope development has the switchable methods and those of development
// tools, on embedded networks only.
func TestDevelopersOffers(t *testing.T) {
	for _, c := range []struct {
		what   string
		policy nodegate.Policy
		remote bool
		want   bool
	}{
		{"no scope", nodegate.Policy{}, false, false},
		{"the scope", nodegate.Policy{Development: true}, false, true},
		{"the scope, on a remote network", nodegate.Policy{Development: true}, true, false},
		{"a key without it", nodegate.Policy{Development: true, Settings: nodegate.KeySettings{Services: []string{"json-rpc"}}}, false, false},
		{"a key with it", nodegate.Policy{Development: true, Settings: nodegate.KeySettings{Services: []string{"json-rpc", "development"}}}, false, true},
		{"a key with it, of an account without", nodegate.Policy{Settings: nodegate.KeySettings{Services: []string{"development"}}}, false, false},
	} {
		ctx := developing(t, c.policy)
		cfg := limits(Spec)
		cfg.Remote = c.remote
		for _, name := range []string{"hardhat_setBalance", "anvil_mine", "evm_setAutomine", "evm_mine", "eth_sendTransaction", "debug_traceTransaction"} {
			fake := newFake()
			_, err := New(fake, cfg).Call(ctx, name, []byte(`["0x1"]`))
			served := err == nil || nodegate.AsError(err).Code != nodegate.MethodNotFound
			if served != c.want || len(fake.asked) > 0 && !c.want {
				t.Errorf("%s: %s: %v", c.what, name, err)
			}
		}
	}
}

// developing is a request of a key with a policy.
func developing(t *testing.T, p nodegate.Policy) context.Context {
	policy := new(atomic.Pointer[nodegate.Policy])
	policy.Store(&p)
	grant, _ := nodegate.NewGrant("a", "k", policy)
	return nodegate.WithGrant(t.Context(), grant)
}

// Whoever lacks the scope reads how to get it.
func TestScopeHint(t *testing.T) {
	for _, c := range []struct {
		remote bool
		want   string
	}{
		{false, "the method hardhat_mine does not exist/is not available: it needs an API key with the scope development, which an operator grants to its account"},
		{true, "the method hardhat_mine does not exist/is not available"},
	} {
		cfg := limits(Spec)
		cfg.Remote = c.remote
		_, err := New(newFake(), cfg).Call(t.Context(), "hardhat_mine", nil)
		if got := nodegate.AsError(err).Msg; got != c.want {
			t.Errorf("%s", got)
		}
	}
}

func TestRefusedMethods(t *testing.T) {
	for _, method := range append(strings.Fields(never), "", "eth_", "eth_signX", "\x00", strings.Repeat("a", 1000)) {
		fake := newFake()
		result, err := New(fake, limits(Spec)).Call(t.Context(), method, nil)
		if method == "eth_" && err == nil {
			continue // the node's to refuse
		}
		want := "the method " + method + " does not exist/is not available"
		if name := nodegate.AsError(err).Msg; !strings.HasPrefix(name, want) {
			t.Errorf("%s is refused with %q", method, name)
		}
		if len(fake.asked) > 0 {
			t.Errorf("%s reached the node: %s", method, result)
		}
	}
}

func TestAccountsAreNone(t *testing.T) {
	fake := newFake()
	if got := ask(t, New(fake, limits(Spec)), "eth_accounts", `[]`); got != "[]" || len(fake.asked) > 0 {
		t.Errorf("%s, asked %q", got, fake.asked)
	}
}

func TestLayer2OnlyWhereConfigured(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		method string
		served bool
	}{
		{Config{}, "layer2_estimateGas", false},
		{Config{Alias: "linea"}, "linea_estimateGas", false},
		{Config{Layer2: true}, "layer2_estimateGas", true},
		{Config{Layer2: true}, "linea_estimateGas", false},
		{Config{Layer2: true, Alias: "linea"}, "linea_estimateGas", true},
		{Config{Layer2: true, Alias: "linea"}, "layer2_estimateGas", true},
		{Config{Layer2: true, Alias: "linea"}, "linea_chainId", false},
	} {
		fake := newFake()
		_, err := New(fake, c.cfg).Call(t.Context(), c.method, []byte(`[{}]`))
		if (err == nil) != c.served {
			t.Errorf("%+v: %s: %v", c.cfg, c.method, err)
		}
		if err == nil && !strings.HasPrefix(fake.passed(t), "layer2_estimateGas ") {
			t.Errorf("%s became %s", c.method, fake.passed(t))
		}
	}
}

// Parameters of other methods are compacted, or refused where decoders would differ.
func TestPassedOnParameters(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{` [ "0x1" , { "a" : 1 } ] `, `["0x1",{"a":1}]`},
		{`[{"a":1,"a":2}]`, ""},
		{`[{"a":1,"A":2}]`, ""},
		{`[`, ""},
	} {
		fake := newFake()
		_, err := New(fake, limits(Spec)).Call(t.Context(), "eth_feeHistory", []byte(c.params))
		if c.want == "" {
			wantError(t, err, nodegate.InvalidParams, "")
			continue
		}
		if err != nil || fake.passed(t) != "eth_feeHistory "+c.want {
			t.Errorf("%s became %q, %v", c.params, fake.asked, err)
		}
	}
}

// Every method of the table is served where its namespace is on.
func TestMethodNames(t *testing.T) {
	n := New(newFake(), Config{Layer2: true, Namespaces: method.Optional()})
	for _, name := range method.Names() {
		if _, own := n.methods[name]; !own && !method.Offered(name, n.cfg.Namespaces) && !method.OfferedToDevelopers(name) {
			t.Errorf("%s is listed and not served", name)
		}
	}
}
