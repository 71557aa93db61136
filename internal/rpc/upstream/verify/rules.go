package verify

// rules are what a network's setting says about how its chain hashes.
type rules struct{ stack string }

// The stacks that differ, as the setting layer2.stack names them.
const (
	stackOP       = "op"
	stackArbitrum = "arbitrum"
	stackZkSync   = "zksync"
	stackScroll   = "scroll"
)

// off are the checks that mean nothing on a stack. zkSync's headers, roots and state have
// their own hashes; Scroll's state had its own trie for long; the withdrawals root of the
// OP stack is that of a contract's storage.
func (r rules) off() Kinds {
	switch r.stack {
	case stackZkSync:
		return Of(HeaderHash) | Of(TransactionsRoot) | Of(ReceiptsRoot) | Of(WithdrawalsRoot) | Of(Bloom) | Of(Proof)
	case stackScroll:
		return Of(Proof)
	case stackOP:
		return Of(WithdrawalsRoot)
	}
	return 0
}

// skips tells whether transactions of a type, whose encoding isn't known here, belong to
// the stack.
func (r rules) skips(kind uint64) bool {
	switch r.stack {
	case stackArbitrum:
		return kind >= 0x64 && kind <= 0x6a || kind == 0x78
	case stackZkSync:
		return kind == 0x71 || kind == 0xff
	case stackScroll:
		return kind == 0x7e
	}
	return false
}
