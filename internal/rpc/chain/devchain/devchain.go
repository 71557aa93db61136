// Package devchain holds the two development chains that are built in: devnet, a
// layer-1 chain, and rollup, a layer-2 chain with a fixed base fee and fee pricing in
// its block headers.
//
// Each is a genesis and a chain file: the RLP stream of blocks 1 to n, the format
// of "geth import". The files are made by this package's own generator and never
// change by themselves, so docs and tests can quote their hashes; the hashes
// are in testdata/facts.json. Both chains carry the contract of demo/Demo.sol and
// transactions of every type, and fund the ten accounts of the well-known
// development mnemonic, which the generator never spends from.
package devchain

import (
	_ "embed"
	"math/big"

	"github.com/ethereum/go-ethereum/core"
)

//go:generate go run ./gen
//go:generate go test -count=1 -run TestFacts . -update

// The files are embedded as strings, so that no caller can change them for another.
var (
	//go:embed devnet.rlp
	devnetChain string
	//go:embed rollup.rlp
	rollupChain string
)

// Preset is one built-in chain.
//
// A node that continues the chain takes its miner's settings from the genesis:
// ExtraData, GasLimit (the gas ceiling) and Coinbase (the fee recipient). Then the
// blocks it makes look like those of the file.
type Preset struct {
	Name    string
	Genesis func() *core.Genesis // a fresh copy at each call
	Chain   []byte               // RLP stream of the blocks after the genesis
}

// Devnet is the layer-1 chain: chain id 1337, all forks through Osaka, blocks of 60
// million gas.
func Devnet() Preset {
	return Preset{Name: "devnet", Genesis: devnetGenesis, Chain: []byte(devnetChain)}
}

// Rollup is the layer-2 chain: chain id 1338, base fee 7 wei, Linea's pricing in every
// header. It is longer than 128 blocks, so its first transactions are outside a
// window of 128 blocks and its last ones inside.
func Rollup() Preset {
	return Preset{Name: "rollup", Genesis: rollupGenesis, Chain: []byte(rollupChain)}
}

// ByName returns the preset with the given name, and whether there is one.
func ByName(name string) (Preset, bool) {
	switch name {
	case "devnet":
		return Devnet(), true
	case "rollup":
		return Rollup(), true
	}
	return Preset{}, false
}

// ether returns n ether in wei.
func ether(n int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(n), big.NewInt(1e18))
}
