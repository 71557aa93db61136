package devchain

import (
	"bytes"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
)

// Generate makes the chain file of the named preset again. Equal code gives equal
// bytes: time, order and signatures (RFC 6979) leave nothing to chance.
func Generate(name string) (chain []byte, err error) {
	// The chain maker reports a transaction that can't be executed by a panic.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("devchain: generate %s: %v", name, r)
		}
	}()
	preset, ok := ByName(name)
	if !ok {
		return nil, fmt.Errorf("devchain: no preset %q", name)
	}
	blocks, _ := build(preset)
	return encode(blocks)
}

// label names a transaction of a chain for the table of facts.
type label struct {
	name string
	hash common.Hash
}

// build runs the preset's script, a block a step, and returns the blocks and the
// named transactions in order.
func build(p Preset) ([]*types.Block, []label) {
	genesis := p.Genesis()
	steps := script(p.Name)
	w := newWriter(genesis.Config.ChainID, feesOf(p.Name))
	fill := func(i int, b *core.BlockGen) {
		b.SetCoinbase(genesis.Coinbase)
		b.SetExtra(genesis.ExtraData)
		b.OffsetTime(2) // the chain maker's 10 seconds become mainnet's 12
		w.block = b
		steps[i](w)
	}
	engine := beacon.New(ethash.NewFaker())
	_, blocks, _ := core.GenerateChainWithGenesis(genesis, engine, len(steps), fill)
	return blocks, w.labels
}

func encode(blocks []*types.Block) ([]byte, error) {
	var buf bytes.Buffer
	for _, block := range blocks {
		if err := block.EncodeRLP(&buf); err != nil {
			return nil, fmt.Errorf("devchain: encode block %d: %w", block.NumberU64(), err)
		}
	}
	return buf.Bytes(), nil
}

// fees are what the script's transactions offer for a unit of gas, in wei.
type fees struct {
	price int64 // legacy and access-list transactions
	tip   int64
	limit int64 // tip and base fee together
}

// feesOf returns offers that a pool of the chain would take. On the rollup the tip
// pays for publishing to layer 1.
func feesOf(name string) fees {
	if name == "rollup" {
		return fees{price: 50_000_000, tip: 40_000_000, limit: 60_000_000}
	}
	return fees{price: 2_000_000_000, tip: 1_000_000_000, limit: 3_000_000_000}
}
