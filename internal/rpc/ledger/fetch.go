package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/internal/rpc/signer"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// fetcher gets blocks from nodes and proves them.
type fetcher struct {
	source nodegate.Node
	fix    Forms
	check  *verify.Checker
	writer *form.Writer
	log    *slog.Logger
	share  sharing
	counts *counts

	refused [32]byte // the block whose receipts the nodes refuse
	refusal int      // how often they did
	told    bool     // that there are no receipts
	calls   bool     // how many calls it takes was told
}

// unproven is the error of data that can't be proven, or that contradicts what follows
// from what is proven. Another node may have better data; on some networks none has.
type unproven struct{ what string }

func (u *unproven) Error() string { return u.what }

// errAway is the error of a block that the nodes don't have now.
var errAway = errors.New("no node has the block")

// byNumber fetches the block of a height.
func (f *fetcher) byNumber(ctx context.Context, number uint64) (*fetched, error) {
	raw, err := f.source.Call(ctx, method.EthGetBlockByNumber, []byte("["+hexjson.Number(number)+",true]"))
	if err != nil {
		return nil, err
	}
	b, err := f.block(ctx, rawBlock{block: raw}, nil)
	if err == nil && b.Number != number {
		err = &unproven{"a node returned a block at another height"}
	}
	return b, f.count(err)
}

// count counts a block of a node.
func (f *fetcher) count(err error) error {
	if err == nil {
		f.counts.fetched.Add(1)
	}
	return err
}

// byHash fetches a block by its hash.
func (f *fetcher) byHash(ctx context.Context, hash [32]byte) (*fetched, error) {
	raw, err := f.source.Call(ctx, method.EthGetBlockByHash, fmt.Appendf(nil, `["0x%x",true]`, hash))
	if err != nil {
		return nil, err
	}
	b, err := f.block(ctx, rawBlock{block: raw}, &hash)
	return b, f.count(err)
}

// next fetches the block of a height. If the nodes reported its hash, another server may have
// fetched it.
func (f *fetcher) next(ctx context.Context, number uint64) (*store.Block, error) {
	get := func() (*fetched, error) { return f.byNumber(ctx, number) }
	if hash, ok := f.reported(ctx, number); ok {
		return f.share.fetch(ctx, f, number, hash, get)
	}
	return justBlock(get())
}

// reported is the hash of a height, as far as nodes reported it. If another server told of the
// head before a node of this one did, a node is asked: a header costs less than a block.
func (f *fetcher) reported(ctx context.Context, number uint64) (hash [32]byte, ok bool) {
	if f.share.hash == nil || f.share.with == nil {
		return hash, false
	}
	if hash, ok = f.share.hash(number); ok {
		return hash, true
	}
	if head, err := f.source.Head(ctx); err != nil || head.Number != number {
		return hash, false
	}
	hash, err := f.hashOf(ctx, number)
	return hash, err == nil
}

// linked fetches a block that another one names as its parent, or that the nodes reported.
func (f *fetcher) linked(ctx context.Context, number uint64, hash [32]byte) (*store.Block, error) {
	return f.share.fetch(ctx, f, number, hash, func() (*fetched, error) { return f.byHash(ctx, hash) })
}

// hashOf asks which block is at a height. The hash is one of a header that has it.
func (f *fetcher) hashOf(ctx context.Context, number uint64) (hash [32]byte, err error) {
	h, _, err := f.header(ctx, number)
	if err != nil {
		return hash, err
	}
	return h.Hash, nil
}

// header fetches the header of a height. What a node said has the hash that it says.
func (f *fetcher) header(ctx context.Context, number uint64) (h *verify.Header, raw []byte, err error) {
	raw, err = f.source.Call(ctx, method.EthGetBlockByNumber, []byte("["+hexjson.Number(number)+",false]"))
	if err != nil {
		return nil, nil, err
	}
	if string(raw) == "null" {
		return nil, nil, errAway
	}
	h, finding := f.check.Read(raw)
	switch {
	case finding != nil:
		return nil, nil, &unproven{finding.What}
	case h == nil:
		return nil, nil, &unproven{"the network hashes headers in its own way"}
	case h.Number != number:
		return nil, nil, &unproven{"a node returned a block at another height"}
	}
	return h, raw, nil
}

// fetched is a block that is being proven.
type fetched struct {
	*store.Block
	raw      rawBlock
	said     []member // of the block
	txs      [][]byte // JSON
	encoded  *verify.Encoded
	head     form.Head
	receipts [][]byte // JSON
}

// block proves a block, fetches its receipts if they are not there, and proves those too. want
// is its hash, if it was asked for by that.
func (f *fetcher) block(ctx context.Context, raw rawBlock, want *[32]byte) (*fetched, error) {
	b, err := f.prove(raw.block, want)
	if err != nil {
		return nil, err
	}
	b.raw = raw
	list, err := f.receipts(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := f.addReceipts(b, &list); err != nil {
		return nil, err
	}
	return b, f.addTransactions(b)
}

// prove proves a block without its receipts.
func (f *fetcher) prove(raw []byte, want *[32]byte) (*fetched, error) {
	if string(raw) == "null" {
		return nil, errAway
	}
	fixed, ok := f.fix.Block(raw)
	if !ok {
		return nil, &unproven{"the block is malformed"}
	}
	b := &fetched{Block: &store.Block{}}
	if b.said, ok = members(nil, fixed); !ok || !fixedHex(b.Hash[:], find(b.said, "hash")) || want != nil && b.Hash != *want {
		return nil, &unproven{"the block's hash is missing or differs from the requested one"}
	}
	var finding *verify.Finding
	if b.encoded, finding = f.check.Encode(b.Hash, raw); finding != nil {
		return nil, &unproven{finding.What}
	}
	if b.encoded.Header == nil || !b.encoded.Held.Has(verify.TransactionsRoot) {
		return nil, &unproven{"the block has transactions whose encoding isn't known, so its root can't be checked"}
	}
	if b.head, ok = f.writer.Head(b.encoded.RLP); !ok {
		return nil, &unproven{"the header has fields that are not known"}
	}
	if b.txs, ok = jsonrpc.Elements(nil, find(b.said, "transactions")); !ok || len(b.txs) != b.encoded.Transactions.Len()+len(b.encoded.Outside) {
		return nil, &unproven{"the block's transactions can't be read"}
	}
	b.fill()
	return b, f.addBlock(b)
}

// fill takes over what the header has.
func (b *fetched) fill() {
	b.Parent, b.Number, b.Time = b.head.Parent, b.head.Number, b.head.Time
	b.Level, b.Header = uint8(nodegate.LevelRoots), b.encoded.RLP
	if b.encoded.HasWithdrawals {
		b.Withdrawals = form.AppendList(nil, b.encoded.Withdrawals.Data)
	}
	b.Extra = extras(b.said, blockMembers)
	n := b.encoded.Transactions.Len()
	b.Txs, b.Hashes = make([]store.Row, n), make([][32]byte, n)
	for i := range n {
		b.Txs[i].Data = b.encoded.Transactions.At(i)
	}
}

// noUncles is the hash of an empty list of uncles.
const noUncles = `"0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"`

// addBlock finds the size of the block and compares its header with what the node said. A
// block with uncles, or with a transaction that its root leaves out, has no size: it isn't
// stored whole, so nodes are asked for it.
func (f *fetcher) addBlock(b *fetched) error {
	b.Partial = len(b.encoded.Outside) > 0
	uncles := !bytes.EqualFold(find(b.said, "sha3Uncles"), []byte(noUncles))
	if !uncles && !b.Partial {
		b.Size = form.Size(b.Header, func(yield func([]byte) bool) {
			for i := range b.Txs {
				if !yield(b.Txs[i].Data) {
					return
				}
			}
		}, nil, b.Withdrawals)
	}
	ours, ok := f.writer.Header(nil, &b.head, b.Header, nil)
	return agree("header", b.said, ours, ok)
}

// agree returns an error if something can't be written, or a node said something else.
func agree(what string, said []member, ours []byte, ok bool) error {
	if !ok {
		return &unproven{"a " + what + " has a form that isn't known"}
	}
	if name := contradicted(said, ours); name != "" {
		return &unproven{"a " + what + " of a node has another " + name + " than follows from the block"}
	}
	return nil
}

// receipts fetches the receipts of a block. Nodes may lack the method, or their answer may
// be too large: the list is empty then, and the block is stored without.
func (f *fetcher) receipts(ctx context.Context, b *fetched) (verify.List, error) {
	if len(b.Txs) == 0 {
		return verify.List{}, nil
	}
	raw, err := b.raw.receipts, error(nil)
	if raw == nil {
		raw, err = f.source.Call(ctx, method.EthGetBlockReceipts, fmt.Appendf(nil, `["0x%x"]`, b.Hash))
	}
	switch {
	case f.gone(b.Hash, err):
		return verify.List{}, nil
	case err != nil:
		return verify.List{}, err
	case string(raw) == "null":
		return verify.List{}, errAway
	}
	b.raw.receipts = raw
	list, held, finding := f.check.EncodeReceipts(b.encoded.Header, raw)
	if finding != nil {
		return list, &unproven{finding.What}
	}
	if !held.Has(verify.ReceiptsRoot) || list.Len() != len(b.Txs) {
		return list, &unproven{"the receipts have an encoding that isn't known, so their root can't be checked"}
	}
	fixed, ok := f.fix.Receipts(raw)
	if ok {
		b.receipts, ok = jsonrpc.Elements(nil, fixed)
	}
	if !ok || len(b.receipts) < len(b.Txs) {
		return list, &unproven{"the receipts are malformed"}
	}
	b.Partial = b.Partial || len(b.receipts) > len(b.Txs)
	return list, nil
}

// What nodes say of a method that they don't have.
const (
	numberMethodMissing     = -32601
	numberMethodUnsupported = -32004 // EIP-1474
	numberMethodDisabled    = -32604 // Besu
)

// maxRefusals is how often nodes may refuse the receipts of a block with an error of their
// own before it is stored without.
const maxRefusals = 4

// gone tells whether an error means that the receipts of a block can't be had.
func (f *fetcher) gone(block [32]byte, err error) bool {
	var e *nodegate.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case nodegate.MethodNotFound, nodegate.ResponseTooLarge:
	case nodegate.NodeFault:
		if f.refused != block {
			f.refused, f.refusal = block, 0
		}
		f.refusal++
		lacking := e.Number == numberMethodMissing || e.Number == numberMethodUnsupported || e.Number == numberMethodDisabled
		if !lacking && f.refusal < maxRefusals {
			return false
		}
	default:
		return false
	}
	if !f.told {
		f.told = true
		f.log.Warn("the nodes don't give the receipts of a block: lookups of its receipts are passed on to them", "block", fmt.Sprintf("0x%x", block), "err", err)
	}
	return true
}

// addReceipts makes the rows of receipts.
func (f *fetcher) addReceipts(b *fetched, list *verify.List) error {
	if list.Len() == 0 {
		return nil
	}
	b.Receipts = make([]store.Receipt, list.Len())
	gas, logs := uint64(0), uint64(0)
	for i := range b.Receipts {
		r := &b.Receipts[i]
		row, slim, ok := f.writer.Slim(nil, list.At(i))
		if !ok || slim.Cumulative < gas {
			return &unproven{"a receipt has a form that isn't known"}
		}
		r.Data, r.FirstLog, r.GasUsed = row, logs, slim.Cumulative-gas
		gas, logs = slim.Cumulative, logs+slim.Logs
	}
	return nil
}

// addTransactions finds the senders, and compares all that is written of transactions and
// receipts with what the node said.
func (f *fetcher) addTransactions(b *fetched) error {
	if err := b.addSenders(); err != nil {
		return err
	}
	var room []member
	var buf []byte
	for i := range b.Txs {
		tx := form.Tx{Index: uint64(i), Raw: b.Txs[i].Data, From: [20]byte(b.Senders[20*i:])}
		tx.Hash = f.writer.Hash(tx.Raw)
		b.Hashes[i] = tx.Hash
		known := true // the nonce, which only the receipts of deposits have
		if tx.Raw[0] == depositType {
			if known = len(b.Receipts) > 0; known {
				tx.Nonce, known = form.DepositNonce(b.Receipts[i].Data)
			}
		}
		said, read := members(room[:0], b.txs[i])
		if known {
			var ok bool
			buf, ok = f.writer.Transaction(buf[:0], &b.head, &tx)
			if err := agree("transaction", said, buf, ok && read); err != nil {
				return err
			}
		}
		b.Txs[i].Extra, room = extras(said, transactionMembers), said
		if len(b.Receipts) > 0 {
			if err := f.addReceipt(b, &tx); err != nil {
				return err
			}
		}
	}
	return nil
}

// addReceipt keeps what a node said about a receipt beyond its encoding.
func (f *fetcher) addReceipt(b *fetched, tx *form.Tx) error {
	said, ok := members(nil, b.receipts[tx.Index])
	r := &b.Receipts[tx.Index]
	r.Extra = extras(said, receiptMembers)
	const blobType = 3
	if tx.Raw[0] == blobType {
		price := find(said, "blobGasPrice")
		word, fine := priceWord(price)
		if !fine || b.head.HasBlobGasPrice && b.head.BlobGasPrice != word {
			return &unproven{"the receipts of a block have no price of blob gas, or several"}
		}
		b.head.BlobGasPrice, b.head.HasBlobGasPrice = word, true
		r.Extra = withPrice(price, r.Extra)
	}
	ours, fine := f.writer.Receipt(nil, &b.head, tx, &form.Receipt{Row: r.Data, GasUsed: r.GasUsed, FirstLog: r.FirstLog})
	return agree("receipt", said, ours, ok && fine)
}

// addSenders recovers who sent the transactions, which takes most of the time that a block
// does, on all cores but one.
func (b *fetched) addSenders() error {
	b.Senders = make([]byte, 20*len(b.Txs))
	var failed atomic.Bool
	recover := func(txs []store.Row, at int) {
		for i := range txs {
			sender, ok := signer.Sender(txs[i].Data)
			if !ok {
				failed.Store(true)
			}
			copy(b.Senders[20*(at+i):], sender[:])
		}
	}
	const fewest = 16 // a share that is worth a goroutine
	parts := min(max(background.Cores()-1, 1), (len(b.Txs)+fewest-1)/fewest)
	var all sync.WaitGroup
	at := 0
	for part := range slices.Chunk(b.Txs, max(1, (len(b.Txs)+max(parts, 1)-1)/max(parts, 1))) {
		start := at
		at += len(part)
		all.Go(func() { background.Apart(func(t *background.Thread) { t.Lower(); recover(part, start) }) })
	}
	all.Wait()
	if failed.Load() {
		return &unproven{"a transaction has a signature that isn't known"}
	}
	return nil
}
