// Package chainfile makes the chain that the benchmarks run on: 300 blocks of 60
// transactions, mixed legacy and EIP-1559, plain transfers and token transfers with
// logs, to a different recipient each, so that the tries are a few levels deep.
//
// The chain is kept as a genesis file and an RLP stream of blocks, the two files
// that both nodegate and Geth start from. Equal code gives equal bytes; Ensure makes
// the files once and finds them again later.
package chainfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// version names the folder of the files. Raise it with every change that makes other
// blocks, or old files are taken for new ones.
const version = 1

// Files are the two files of a chain.
type Files struct{ Genesis, Chain string }

// Small makes a chain of a few blocks for tests, in a folder that must not exist yet.
func Small(home string, count int) (Files, error) {
	return filesIn(home), makeFolder(filepath.Dir(home), home, count)
}

// Ensure returns the chain's files below dir and makes them when they are missing.
func Ensure(dir string) (Files, error) {
	home := filepath.Join(dir, fmt.Sprintf("chain-v%d", version))
	files := filesIn(home)
	if _, err := os.Stat(home); err == nil {
		return files, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Files{}, err
	}
	return files, makeFolder(dir, home, blockCount)
}

func filesIn(home string) Files {
	return Files{Genesis: filepath.Join(home, "genesis.json"), Chain: filepath.Join(home, "chain.rlp")}
}

// makeFolder fills a folder under another name first, so that an interrupted run
// leaves no half of a chain behind.
func makeFolder(dir, home string, count int) error {
	draft, err := os.MkdirTemp(dir, "draft-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft) // finds nothing after the rename
	genesis, blocks, err := generate(count)
	if err != nil {
		return err
	}
	if err := writeGenesis(filesIn(draft).Genesis, genesis); err != nil {
		return err
	}
	if err := writeBlocks(filesIn(draft).Chain, blocks); err != nil {
		return err
	}
	return os.Rename(draft, home)
}

func writeGenesis(path string, genesis *core.Genesis) error {
	data, err := json.Marshal(genesis)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func writeBlocks(path string, blocks []*types.Block) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if err := b.EncodeRLP(f); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// Load reads both files.
func Load(files Files) (*core.Genesis, []*types.Block, error) {
	data, err := os.ReadFile(files.Genesis)
	if err != nil {
		return nil, nil, err
	}
	genesis := new(core.Genesis)
	if err := json.Unmarshal(data, genesis); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", files.Genesis, err)
	}
	blocks, err := readBlocks(files.Chain)
	return genesis, blocks, err
}

func readBlocks(path string) ([]*types.Block, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stream := rlp.NewStream(f, 0)
	var blocks []*types.Block
	for {
		b := new(types.Block)
		switch err := stream.Decode(b); {
		case errors.Is(err, io.EOF):
			return blocks, nil
		case err != nil:
			return nil, fmt.Errorf("%s: after %d blocks: %w", path, len(blocks), err)
		}
		blocks = append(blocks, b)
	}
}
