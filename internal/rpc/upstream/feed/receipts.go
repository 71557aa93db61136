package feed

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// maxHashes is how many transactions a subscription to receipts may name, as in Geth.
const maxHashes = 200

// readHashes reads the transactions whose receipts a subscription is about, sorted. None
// is all of them.
func readHashes(raw []byte) (list []string, err error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	why := "want an object"
	whole := jsonrpc.Fields(raw, func(name, value []byte) (ok bool) {
		if string(name) != "transactionHashes" {
			return true
		}
		if list, ok = choices(value, hexjson.HashLength, maxHashes); !ok {
			why = "transactionHashes: want a list of at most 200 transaction hashes"
		}
		return ok
	})
	if !whole {
		return nil, badSubscription("invalid argument 1: " + why)
	}
	return list, nil
}

// receiptKeeper gets the receipts of each new block, once for all readers. A block that the
// chain drops is not told of, as in Geth: the receipts of the blocks in its place are.
type receiptKeeper struct{ steps }

func newReceiptKeeper(f *Feed) *receiptKeeper { return &receiptKeeper{newSteps(f, kindReceipts)} }

func (k *receiptKeeper) do(ctx context.Context, s step) {
	list, err := k.fetch(ctx, s)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errDropped) {
			k.feed.cfg.Log.Warn("no node returns the receipts of a block: closing transactionReceipts subscriptions", "block", s.Number, "err", err)
			k.feed.lose(ctx, kindReceipts)
		}
		return
	}
	f := k.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.streams {
		if one.kind != kindReceipts {
			continue
		}
		if event := one.receipts(list); event != nil {
			f.push(one, s.at, event)
		}
	}
}

// receipt is one receipt of a block.
type receipt struct {
	raw         []byte
	transaction string // lower-case JSON token
}

// receipts are those of a block that the stream's readers want, or nil.
func (s *stream) receipts(list []receipt) []byte {
	var wanted [][]byte
	for _, r := range list {
		if _, found := slices.BinarySearch(s.hashes, r.transaction); found || len(s.hashes) == 0 {
			wanted = append(wanted, r.raw)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(wanted, []byte(",")), []byte("]"))
}

var errForeignReceipts = errors.New("the node's receipts are of another block than was asked")

// fetch asks for a block's receipts, of the node that reported it or any that has it.
func (k *receiptKeeper) fetch(ctx context.Context, s step) (list []receipt, err error) {
	err = k.persist(ctx, s, func(ctx context.Context, from *heads.Node) error {
		raw, err := k.feed.cfg.Receipts(ctx, from, s.Number, "["+s.Hash+"]")
		if err != nil {
			return err
		}
		var ok bool
		if list, ok = k.read(raw, &s.Header); !ok {
			return errForeignReceipts
		}
		return nil
	})
	return list, err
}

// read splits a block's receipts and checks that they are of the block.
func (k *receiptKeeper) read(raw []byte, block *heads.Header) (list []receipt, ok bool) {
	elements, ok := jsonrpc.Elements(nil, raw)
	if !ok {
		return nil, false
	}
	for _, e := range elements {
		of, transaction := "", ""
		whole := jsonrpc.Fields(e, func(name, value []byte) bool {
			switch string(name) {
			case "blockHash":
				of = string(value)
			case "transactionHash":
				transaction = strings.ToLower(string(value))
			}
			return true
		})
		if !whole || !strings.EqualFold(of, block.Hash) {
			return nil, false
		}
		list = append(list, receipt{k.feed.cfg.FixReceipt(e), transaction})
	}
	return list, true
}
