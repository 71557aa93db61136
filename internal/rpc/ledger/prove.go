package ledger

import (
	"bytes"
	"context"
	"errors"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/internal/rpc/signer"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// Report is what Verify found.
type Report struct {
	First, Last                    uint64
	Blocks, Transactions, Receipts int
	Missing                        int // blocks without receipts
	Damaged                        int
	Damages                        []Damage // the first of them
}

// Damage is a block of the copy that is not what was stored.
type Damage struct {
	Number uint64
	Why    string
}

// maxDamages is how many damaged blocks a report names.
const maxDamages = 100

// Verify reads all blocks of the chain in the copy and proves them again: hashes, roots,
// links, senders, and that they are found. Damaged ones are fetched again. It works at low
// priority.
//
// Returns NotFound while there is no copy.
func (n *Node) Verify(ctx context.Context) (r Report, err error) {
	s := n.store.Load()
	if s == nil {
		return r, errNoCopy
	}
	first, tip, ok := s.Tip()
	if !ok {
		return r, errNoCopy
	}
	r.First, r.Last = first.Number, tip.Number
	background.Apart(func(t *background.Thread) {
		t.Lower()
		p := prover{store: s, writer: n.writer, stack: n.cfg.Stack, report: &r}
		for at := first.Number; at <= tip.Number && err == nil; at++ {
			if err = ctx.Err(); err == nil {
				err = p.height(at, &n.repairs)
			}
			t.Rest()
		}
	})
	return r, err
}

var errNoCopy = &nodegate.Error{Op: "ledger.verify", Code: nodegate.NotFound, Msg: "the ledger has no blocks yet"}

// prover proves stored blocks.
type prover struct {
	store  *store.Store
	writer *form.Writer
	stack  string
	report *Report

	rows   *store.Snapshot
	parent [32]byte // the hash of the block before; zero where it isn't known
}

// torn is the error of a block that is not what was stored.
type torn struct{ why string }

func (t *torn) Error() string { return t.why }

// height proves the canonical block of a height. Blocks that are pruned meanwhile don't count.
func (p *prover) height(number uint64, repair *repairs) error {
	var err error
	if p.rows, err = p.store.Snapshot(); err != nil {
		return err
	}
	defer func() { _ = p.rows.Close() }() // nothing was written
	m, ok, err := p.rows.Canonical(number)
	if err == nil && !ok {
		p.parent = [32]byte{}
		return nil
	}
	if err == nil {
		err = p.block(m.Place)
	}
	p.report.Blocks++
	p.parent = m.Hash
	var t *torn
	if err == nil || !errors.As(err, &t) && !errors.Is(err, nodegate.Damaged) && !errors.Is(err, nodegate.NotFound) {
		return err
	}
	if ok {
		repair.add(m.Hash)
	} else {
		repair.lose()
	}
	p.report.damage(number, err)
	return nil
}

func (r *Report) damage(number uint64, err error) {
	r.Damaged++
	if len(r.Damages) == maxDamages {
		return
	}
	why := err.Error()
	var e *nodegate.Error
	if errors.As(err, &e) {
		why = e.Msg
	}
	r.Damages = append(r.Damages, Damage{number, why})
}

// block proves a block and all that belongs to it.
func (p *prover) block(at store.Place) error {
	h, err := p.rows.Head(at)
	if err != nil {
		return err
	}
	head, ok := p.writer.Head(h.Header)
	roots, whole := form.RootsOf(h.Header)
	switch {
	case !ok || !whole || head.Hash != at.Hash:
		return &torn{"the header doesn't hash to the block's hash"}
	case head.Number != at.Number || head.Parent != h.Parent || head.Time != h.Time:
		return &torn{"the header is of another block"}
	case p.parent != [32]byte{} && h.Parent != p.parent:
		return &torn{"the block doesn't follow the one before it"}
	}
	if err := p.found(at); err != nil {
		return err
	}
	kinds, err := p.transactions(h, roots.Transactions)
	if err != nil {
		return err
	}
	if err := p.withdrawals(h, &roots); err != nil {
		return err
	}
	return p.receipts(h, kinds, roots.Receipts)
}

// found proves that a block is found by its hash.
func (p *prover) found(at store.Place) error {
	there, ok, err := p.rows.ByHash(at.Hash)
	if err == nil && (!ok || there != at) {
		err = &torn{"the block isn't found by its hash"}
	}
	return err
}

// transactions proves the transactions, their hashes, their senders, and that they are found.
// It returns their types.
func (p *prover) transactions(h *store.Head, root [32]byte) (kinds []byte, err error) {
	var list verify.List
	if h.Txs == 0 {
		return nil, sameRoot(&list, root, "transactions")
	}
	hashes, err := p.rows.Hashes(h.Place)
	if err != nil {
		return nil, err
	}
	senders, err := p.rows.Senders(h.Place)
	if err != nil {
		return nil, err
	}
	if len(hashes) != 32*h.Txs || len(senders) != 20*h.Txs {
		return nil, &torn{"hashes or senders of transactions are missing"}
	}
	var wrong error
	err = p.rows.Txs(h.Place, func(i int, row store.Row) bool {
		list.Add(row.Data)
		kinds = append(kinds, typeOf(row.Data))
		wrong = p.transaction(h, i, row.Data, hashes[32*i:32*i+32], senders[20*i:20*i+20])
		return wrong == nil
	})
	if err = errors.Join(err, wrong); err == nil {
		err = sameRoot(&list, root, "transactions")
	}
	p.report.Transactions += list.Len()
	return kinds, err
}

// sameRoot proves a list.
func sameRoot(list *verify.List, root [32]byte, what string) error {
	if list.Root() != root {
		return &torn{"the " + what + " don't have the header's root"}
	}
	return nil
}

// typeOf is the type of an encoded transaction.
func typeOf(raw []byte) byte {
	const firstList = 0xc0
	if len(raw) == 0 || raw[0] >= firstList {
		return 0
	}
	return raw[0]
}

func (p *prover) transaction(h *store.Head, index int, raw, hash, from []byte) error {
	if own := p.writer.Hash(raw); !bytes.Equal(own[:], hash) {
		return &torn{"a transaction has another hash"}
	}
	if sender, ok := signer.Sender(raw); !ok || !bytes.Equal(sender[:], from) {
		return &torn{"a transaction has another sender"}
	}
	at, i, ok, err := p.store.Find([32]byte(hash))
	if err != nil || ok && at == h.Place && i == index {
		return err
	}
	if m, ok, err := p.store.Canonical(h.Number); err != nil || !ok || m.Place != h.Place {
		return err // a reorg took it off the chain meanwhile
	}
	return &torn{"a transaction isn't found by its hash"}
}

// withdrawals proves the withdrawals. The OP stack has another root in their place.
func (p *prover) withdrawals(h *store.Head, roots *form.Roots) error {
	if h.Withdrawals == nil || !roots.HasWithdrawals || p.stack == "op" {
		return nil
	}
	elements, ok := form.Elements(h.Withdrawals)
	var list verify.List
	for _, e := range elements {
		list.Add(e)
	}
	if !ok {
		return &torn{"the withdrawals can't be read"}
	}
	return sameRoot(&list, roots.Withdrawals, "withdrawals")
}

// receipts proves the receipts, and what is stored beside them.
func (p *prover) receipts(h *store.Head, kinds []byte, root [32]byte) error {
	if h.Receipts == 0 {
		if h.Txs > 0 {
			p.report.Missing++
		}
		return nil
	}
	if h.Receipts != len(kinds) {
		return &torn{"there are not as many receipts as transactions"}
	}
	var list verify.List
	var wrong error
	gas, logs := uint64(0), uint64(0)
	err := p.rows.Receipts(h.Place, func(i int, row store.Receipt) bool {
		whole, ok := p.writer.Consensus(nil, kinds[i], row.Data)
		_, slim, fine := p.writer.Slim(nil, whole)
		if !ok || !fine || row.FirstLog != logs || gas+row.GasUsed != slim.Cumulative {
			wrong = &torn{"a receipt is not what was stored"}
			return false
		}
		gas, logs = slim.Cumulative, logs+slim.Logs
		list.Add(whole)
		return true
	})
	if err = errors.Join(err, wrong); err == nil {
		err = sameRoot(&list, root, "receipts")
	}
	p.report.Receipts += list.Len()
	return err
}
