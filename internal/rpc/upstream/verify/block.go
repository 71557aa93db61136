package verify

import (
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// block checks a block or a header.
func (c *check) block(result []byte) *Finding {
	o, ok := blockNames.read(result, c.fields[:blockFields], c.scratch.seed)
	if !ok || o.broken {
		return falsely(Identity, "the block can't be read, or names a field twice")
	}
	if c.ask.Pending && o.fields[blockHash] == nil {
		return nil
	}
	if f := c.named(o.fields[blockHash], o.fields[blockNumber]); f != nil {
		return f
	}
	h, f := c.header(&o)
	if f = c.failed(f); f != nil {
		return f
	}
	if h != nil {
		c.pass(HeaderHash)
		c.keep.keepHeader(h, &o, c.buf)
		c.headers.add(h)
	}
	if c.ask.Row.Answer == method.HeaderAnswer {
		return nil
	}
	if f := c.uncles(&o); f != nil {
		return f
	}
	if f := c.transactions(&o, h); f != nil {
		return f
	}
	return c.withdrawals(&o, h)
}

// found is a finding about a block.
func found(k Kind, o *object, what string) *Finding {
	f := &Finding{Kind: k, Shape: o.other, What: what}
	_ = fixed(f.Claim[:], o.fields[blockHash]) // or zero
	return f
}

// uncles checks that there are uncles where the header says so.
func (c *check) uncles(o *object) *Finding {
	list, ok := elements(nil, o.fields[uncles])
	var sum [32]byte
	if !ok || o.fields[uncles] == nil || !fixed(sum[:], o.fields[sha3Uncles]) {
		return nil
	}
	if (len(list) == 0) != (sum == emptyUncles) {
		return c.failed(found(Placement, o, "the block's uncles are not those of its header"))
	}
	return nil
}

// transactions checks the transactions of a block, or their hashes, as was asked for.
func (c *check) transactions(o *object, h *Header) *Finding {
	var ok bool
	if c.list, ok = elements(c.list[:0], o.fields[blockTransactions]); !ok || o.fields[blockTransactions] == nil {
		return falsely(Identity, "the block has no list of transactions")
	}
	if h != nil && (len(c.list) == 0) != (h.TransactionsRoot == emptyRoot) {
		return c.failed(found(TransactionsRoot, o, "the block has no transactions, or has some, against its header"))
	}
	wanted := byte('"')
	if string(c.param(1)) == "true" {
		wanted = '{'
	}
	for _, raw := range c.list {
		if raw[0] != wanted {
			return falsely(Identity, "the block has whole transactions where hashes were asked for, or the other way")
		}
	}
	if wanted == '{' {
		return c.bodies(o, h)
	}
	for _, raw := range c.list {
		if !isHash(raw) {
			return falsely(Identity, "the block's transactions are not hashes")
		}
		c.seen.add(raw)
	}
	return nil
}

// bodies checks whole transactions and their root.
func (c *check) bodies(o *object, h *Header) *Finding {
	c.trie.reset()
	whole := true
	for i, raw := range c.list {
		tx, ok := transactionNames.read(raw, c.inner[:txFields], c.scratch.seed)
		if !ok || tx.broken {
			return falsely(Identity, "a transaction can't be read, or names a field twice")
		}
		if index, ok := hexjson.Quantity(tx.fields[txIndex]); !ok || index != uint64(i) ||
			!same(tx.fields[txBlockHash], o.fields[blockHash]) || !same(tx.fields[txBlockNumber], o.fields[blockNumber]) {
			if f := c.failed(found(Placement, o, "a transaction names another block or index than its own")); f != nil {
				return f
			}
		}
		out, listed, f := c.body(c.trie.data, &tx)
		if f != nil {
			return f
		}
		c.trie.data = out
		switch listed {
		case included:
			c.trie.add()
		case outside:
			c.keep.skip(i)
		}
		whole = whole && listed != unread
		c.seen.add(tx.fields[txHash])
	}
	if h == nil || !whole || len(c.list) == 0 {
		return nil
	}
	if c.trie.root() != h.TransactionsRoot {
		return c.failed(found(TransactionsRoot, o, "the block's transactions don't have the root of its header"))
	}
	c.pass(TransactionsRoot)
	c.keep.keepTransactions(&c.trie)
	return nil
}

// listing is whether a transaction is among those that the header commits to.
type listing uint8

const (
	included listing = iota
	outside          // made by the chain
	unread           // of a type that can't be encoded
)

// body checks a transaction's hash and appends its encoding.
func (c *check) body(dst []byte, o *object) ([]byte, listing, *Finding) {
	kind, ok := typeOf(o.fields[txType])
	if ok && c.rules.skips(kind) {
		return dst, unread, nil
	}
	out, own, f := c.transaction(dst, o)
	switch {
	case f != nil:
		return dst, unread, c.failed(f)
	case own:
		return dst, outside, nil
	}
	c.pass(TransactionHash)
	return out, included, nil
}

// withdrawals checks the root of a block's withdrawals.
func (c *check) withdrawals(o *object, h *Header) *Finding {
	var want [32]byte
	if h == nil || o.fields[withdrawals] == nil || !fixed(want[:], o.fields[withdrawalsRoot]) || c.rules.off().Has(WithdrawalsRoot) {
		return c.unproven(o, h)
	}
	list, ok := elements(nil, o.fields[withdrawals])
	c.trie.reset()
	for _, raw := range list {
		v, fine := members(raw, "index", "validatorIndex", "address", "amount")
		w := writer{out: c.trie.data, ok: fine}
		start := len(w.out)
		w.quantity(v[0])
		w.quantity(v[1])
		w.data(v[2])
		w.quantity(v[3])
		c.trie.data, ok = wrap(w.out, start), ok && w.ok
		c.trie.add()
	}
	if !ok || c.trie.root() != want {
		f := found(WithdrawalsRoot, o, "the block's withdrawals don't have the root of its header")
		if f.Foreign = len(list) == 0; f.Foreign {
			f.Shape++ // the OP stack has another root there
		}
		return c.failed(f)
	}
	c.pass(WithdrawalsRoot)
	c.keep.keepWithdrawals(&c.trie)
	return nil
}
