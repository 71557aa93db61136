package chain

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// maxPending is how many transactions one answer shows. A full pool has several thousand,
// and anyone may fill it.
const maxPending = 1000

// fewPending is how many are looked up at once. More of them take a seat in the heavy lane.
const fewPending = 20

// pendingTransactions are those that wait for a block, whoever sent them: by sender and
// nonce, and then those of impersonated accounts. go-ethereum shows only those of accounts
// whose keys it has, which is none.
func (d devSender) pendingTransactions(ctx context.Context) ([]byte, error) {
	hashes := d.pendingHashes()
	if len(hashes) > maxPending {
		return nil, &nodegate.Error{Op: "chain.pending", Code: nodegate.ResponseTooLarge, Msg: fmt.Sprintf("response too large: %d transactions are pending, and at most %d are shown. Request yours by hash", len(hashes), maxPending)}
	}
	if len(hashes) <= fewPending {
		return d.show(ctx, hashes)
	}
	var result []byte
	err := d.node.lanes.RunHeavy(ctx, d.node.callTimeout, func(ctx context.Context, _ time.Duration) (err error) {
		result, err = d.show(ctx, hashes)
		return err
	})
	return result, laneError(err)
}

// show looks transactions up.
func (d devSender) show(ctx context.Context, hashes []common.Hash) ([]byte, error) {
	list := [][]byte{}
	for _, hash := range hashes {
		params := fmt.Appendf(nil, `["%s"]`, hash)
		tx := d.waitingAnswer(params)
		if tx == nil {
			var err error
			if tx, err = d.node.ask(ctx, method.EthGetTransactionByHash, params); err != nil {
				return nil, err
			}
		}
		if string(tx) != "null" { // it was mined or replaced meanwhile
			list = append(list, tx)
		}
	}
	return slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]")), nil
}

func (d devSender) pendingHashes() (hashes []common.Hash) {
	pending, late := d.producer().executables()
	for from, txs := range late {
		pending[from] = append(pending[from], txs...)
	}
	for _, from := range slices.SortedFunc(maps.Keys(pending), common.Address.Cmp) {
		for _, tx := range pending[from] {
			hashes = append(hashes, tx.Hash())
		}
	}
	for _, w := range d.producer().settings.Load().Waiting {
		if tx := w.tx(); tx != nil {
			hashes = append(hashes, tx.Hash())
		}
	}
	return hashes
}
