package chain

import (
	"encoding/json"
	"os"

	"github.com/ethereum/go-ethereum/core"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// Beginning reads how a chain starts: a built-in preset, or a genesis file and
// perhaps a file of blocks to import.
//
// Returns BadConfig when a file can't be read or is not what it should be.
func Beginning(preset, genesisFile, chainFile string) (*core.Genesis, []byte, error) {
	if genesisFile == "" {
		p, ok := devchain.ByName(preset)
		if !ok {
			return nil, nil, badData("chain.genesis", "unknown built-in chain "+preset, nil)
		}
		return p.Genesis(), p.Chain, nil
	}
	genesis, err := readGenesis(genesisFile)
	if err != nil || chainFile == "" {
		return genesis, nil, err
	}
	blocks, err := os.ReadFile(chainFile)
	if err != nil {
		return nil, nil, badData("chain.genesis", "can't read the chain file "+chainFile, err)
	}
	return genesis, blocks, nil
}

// readGenesis reads a genesis file in Geth's format.
func readGenesis(path string) (*core.Genesis, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, badData("chain.genesis", "can't read the genesis file "+path, err)
	}
	genesis := new(core.Genesis)
	if err := json.Unmarshal(data, genesis); err != nil {
		return nil, badData("chain.genesis", "the genesis file "+path+" is not a genesis in Geth's JSON format", err)
	}
	if genesis.Config == nil || genesis.Config.ChainID == nil {
		return nil, badData("chain.genesis", "the genesis file "+path+" has no config with a chainId", nil)
	}
	return genesis, nil
}
