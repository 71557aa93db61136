package chain

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// importOnce imports the chain file into an empty chain and marks the data
// folder complete. The last block becomes the safe and the finalized one.
func importOnce(bc *core.BlockChain, sync func() error, cfg Config) error {
	if cfg.Dir != "" && imported(cfg.Dir) {
		return checkMarker(bc, cfg.Dir)
	}
	blocks, err := decodeChain(cfg.Chain)
	if err != nil {
		return badData("chain.import", "the chain file is damaged; nothing was imported", err)
	}
	if i, err := bc.InsertChain(blocks); err != nil {
		return badData("chain.import", fmt.Sprintf("block %d of the chain file doesn't fit the genesis; nothing was imported", blocks[i].NumberU64()), err)
	}
	if head := bc.CurrentBlock(); head.Number.Sign() > 0 {
		bc.SetFinalized(head)
		bc.SetSafe(head)
	}
	if err := sync(); err != nil { // the marker must never be on disk before what it promises
		return badData("chain.import", "can't write to the data folder", err)
	}
	return markImported(cfg.Dir, marker{genesis: bc.Genesis().Hash(), number: bc.CurrentBlock().Number.Uint64(), hash: bc.CurrentBlock().Hash()})
}

// checkMarker sees that the chain still holds what was imported: a database that
// lost a file may open without complaint, as an emptier one.
func checkMarker(bc *core.BlockChain, dir string) error {
	m, err := readMarker(dir)
	if err != nil {
		return err
	}
	if bc.GetCanonicalHash(m.number) != m.hash && bc.CurrentBlock().Number.Uint64() < m.number {
		return badData("chain.open", fmt.Sprintf("the chain database has lost blocks: it ends at %d, below the %d that were imported; restore it from a backup, or remove the network's folder to start to import the chain again",
			bc.CurrentBlock().Number, m.number), nil)
	}
	keepImportedFinal(bc, m.number)
	return nil
}

// keepImportedFinal puts the finalized block back to the last imported one if a
// crash caught the producer between lowering and restoring it.
func keepImportedFinal(bc *core.BlockChain, number uint64) {
	final := bc.CurrentFinalBlock()
	if header := bc.GetHeaderByNumber(number); header != nil && number > 0 && (final == nil || final.Number.Uint64() < number) {
		bc.SetFinalized(header)
	}
}

// decodeChain reads every block before the first one is imported, so that a
// truncated file imports nothing.
func decodeChain(data []byte) (types.Blocks, error) {
	stream := rlp.NewStream(bytes.NewReader(data), uint64(len(data)))
	var blocks types.Blocks
	for {
		var b types.Block
		err := stream.Decode(&b)
		if errors.Is(err, io.EOF) {
			return blocks, nil
		}
		if err != nil {
			return nil, fmt.Errorf("after %d whole blocks: %w", len(blocks), err)
		}
		if b.NumberU64() == 0 {
			continue // some exports begin with the genesis block
		}
		blocks = append(blocks, &b)
	}
}
