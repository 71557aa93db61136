package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
)

var errRules = errors.New("the forks of this chain are not known: name its genesis file")

// rulesOf is which rules a chain executes by: those of its genesis file, or of a public
// chain that go-ethereum knows.
func rulesOf(chainID uint64, genesis []byte) (*params.ChainConfig, error) {
	if genesis != nil {
		return readRules(chainID, genesis)
	}
	for _, c := range []*params.ChainConfig{params.MainnetChainConfig, params.SepoliaChainConfig, params.HoodiChainConfig} {
		if c.ChainID.IsUint64() && c.ChainID.Uint64() == chainID {
			return c, nil
		}
	}
	return nil, errRules
}

// readRules reads the forks of a genesis file. A setting that go-ethereum doesn't know may
// be a fork with other rules, of a chain that only resembles Ethereum.
func readRules(chainID uint64, genesis []byte) (*params.ChainConfig, error) {
	var file struct{ Config json.RawMessage }
	if err := json.Unmarshal(genesis, &file); err != nil {
		return nil, err
	}
	if len(file.Config) == 0 || string(file.Config) == "null" {
		return nil, errors.New("the file has no config")
	}
	var known struct {
		params.ChainConfig
		// TerminalTotalDifficultyPassed is in older files, and says nothing about the rules.
		TerminalTotalDifficultyPassed bool `json:"terminalTotalDifficultyPassed"`
	}
	d := json.NewDecoder(bytes.NewReader(file.Config))
	d.DisallowUnknownFields()
	if err := d.Decode(&known); err != nil {
		return nil, fmt.Errorf("its config has something that Ethereum's hasn't: %w", err)
	}
	c := &known.ChainConfig
	switch {
	case c.ChainID == nil || !c.ChainID.IsUint64() || c.ChainID.Uint64() != chainID:
		return nil, fmt.Errorf("its chainId is %v, and the network's chain_id is %d", c.ChainID, chainID)
	case c.Clique != nil:
		return nil, errors.New("its blocks are signed (clique): nodegate can't tell who made them")
	case c.UBTTime != nil || c.EnableUBTAtGenesis:
		return nil, errors.New("its state is not in Merkle tries")
	}
	return c, c.CheckConfigForkOrder()
}

// fits tells whether a header is one that the chain can have by its forks. One with fields of
// a later fork shows that the forks have changed since this was built, or that its node lies.
func fits(h *types.Header, rules *params.ChainConfig) bool {
	later := []struct{ has, may bool }{
		{h.BaseFee != nil, rules.IsLondon(h.Number)}, {h.WithdrawalsHash != nil, rules.IsShanghai(h.Number, h.Time)}, {h.ParentBeaconRoot != nil, rules.IsCancun(h.Number, h.Time)},
		{h.RequestsHash != nil, rules.IsPrague(h.Number, h.Time)}, {h.BlockAccessListHash != nil || h.SlotNumber != nil, rules.IsAmsterdam(h.Number, h.Time)},
	}
	for _, field := range later {
		if field.has && !field.may {
			return false
		}
	}
	return usable(h, rules)
}

// usable tells whether calls can be executed on a header. A node may have made it up: one
// that doesn't fit the rules would crash the machine, or keep it busy for years.
func usable(h *types.Header, rules *params.ChainConfig) bool {
	blobs := h.ExcessBlobGas == nil || rules.IsCancun(h.Number, h.Time)
	return h.Number.IsUint64() && blobs && guard.CheckHeader(h, rules) == nil
}
