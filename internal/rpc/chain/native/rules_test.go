package native

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// TestRules: chains whose rules are not known, or not Ethereum's, are refused with a reason.
func TestRules(t *testing.T) {
	forks := `"homesteadBlock":0,"eip150Block":0,"eip155Block":0,"eip158Block":0,"byzantiumBlock":0,"constantinopleBlock":0,"petersburgBlock":0,"istanbulBlock":0,"berlinBlock":0,"londonBlock":0`
	for _, c := range []struct {
		id            uint64
		genesis, want string // "" is good
	}{
		{1, "", ""}, {11155111, "", ""}, {560048, "", ""}, {5, "", "not known"}, {42161, "", "not known"},
		{7, `{"config":{"chainId":7,` + forks + `}}`, ""},
		{7, `{"config":{"chainId":7,` + forks + `,"terminalTotalDifficultyPassed":true,"ethash":{}}}`, ""},
		{8, `{"config":{"chainId":7,` + forks + `}}`, "chainId is 7"},
		{7, `{"config":{` + forks + `}}`, "chainId is <nil>"},
		{7, `{"alloc":{}}`, "no config"}, {7, `{"config":null}`, "no config"}, {7, `[`, "JSON"},
		{7, `{"config":{"chainId":7,` + forks + `,"optimism":{"eip1559Elasticity":6}}}`, `unknown field "optimism"`},
		{7, `{"config":{"chainId":7,` + forks + `,"arbitrum":{"EnableArbOS":true}}}`, `unknown field "arbitrum"`},
		{7, `{"config":{"chainId":7,` + forks + `,"parlia":{}}}`, `unknown field "parlia"`},
		{7, `{"config":{"chainId":7,` + forks + `,"nextForkTime":5}}`, `unknown field "nextForkTime"`},
		{7, `{"config":{"chainId":7,` + forks + `,"clique":{"period":5,"epoch":1}}}`, "clique"},
		{7, `{"config":{"chainId":7,"londonBlock":0}}`, "fork ordering"},
		{7, `{"config":{"chainId":7,` + forks + `,"shanghaiTime":0,"cancunTime":0}}`, "blobSchedule"},
	} {
		var genesis []byte
		if c.genesis != "" {
			genesis = []byte(c.genesis)
		}
		config, err := rulesOf(c.id, genesis)
		switch {
		case c.want == "" && (err != nil || config.ChainID.Uint64() != c.id):
			t.Errorf("%d %s: %v", c.id, c.genesis, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%d %s: the error is %v, want %s", c.id, c.genesis, err, c.want)
		}
	}
}

// TestMadeUpHeaders: a header that can't be one of the chain is refused, and doesn't crash the
// machine or keep it busy. go-ethereum would take years to compute the price of so many blobs.
func TestMadeUpHeaders(t *testing.T) {
	m, err := NewMachine(1, nil, Config{})
	if err != nil {
		t.Fatal(err)
	}
	cancun := *params.MainnetChainConfig.CancunTime
	for name, c := range map[string]struct {
		change func(*types.Header)
		ok     bool
	}{
		"good":                    {func(*types.Header) {}, true},
		"very many blobs":         {func(h *types.Header) { *h.ExcessBlobGas = math.MaxUint64 }, false},
		"blobs before they exist": {func(h *types.Header) { h.Time = 1 }, false},
		"no blobs":                {func(h *types.Header) { h.ExcessBlobGas = nil }, false},
		"requests before Prague":  {func(h *types.Header) { h.RequestsHash = &types.EmptyRequestsHash }, false},
		"a later fork's field": {func(h *types.Header) {
			h.RequestsHash, h.BlockAccessListHash = &types.EmptyRequestsHash, &types.EmptyRootHash
		}, false},
		"withdrawals too early": {func(h *types.Header) { h.Time, h.ExcessBlobGas, h.BlobGasUsed, h.ParentBeaconRoot = 1, nil, nil, nil }, false},
		"a huge number":         {func(h *types.Header) { h.Number = new(big.Int).Lsh(big.NewInt(1), 70) }, false},
		"a huge difficulty":     {func(h *types.Header) { h.Difficulty = new(big.Int).Lsh(big.NewInt(1), 200) }, false},
	} {
		h := &types.Header{
			Number: big.NewInt(20_000_000), Time: cancun, Difficulty: new(big.Int), BaseFee: big.NewInt(7), GasLimit: 30_000_000,
			WithdrawalsHash: &types.EmptyWithdrawalsHash, BlobGasUsed: new(uint64), ExcessBlobGas: new(uint64), ParentBeaconRoot: &types.EmptyRootHash,
		}
		c.change(h)
		raw, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Block(raw, h.Hash()); ok != c.ok {
			t.Errorf("%s: it is %v", name, ok)
		}
		if _, ok := m.Block(raw, [32]byte{1}); ok {
			t.Errorf("%s: it passes for another block", name)
		}
	}
}
