package verify

import "fmt"

// Kind says which check failed.
type Kind uint8

// The kinds of checks.
const (
	Identity         Kind = iota // the answer is about what was asked
	HeaderHash                   // a header hashes to its hash
	TransactionHash              // a transaction hashes to its hash
	TransactionsRoot             // the transactions of a block have the root of its header
	WithdrawalsRoot              // likewise its withdrawals
	ReceiptsRoot                 // likewise its receipts
	Placement                    // block, index and hash agree within an answer
	Bloom                        // logs and their bloom filter agree
	FilterMatch                  // logs match the filter, in order
	Proof                        // a Merkle proof leads to the state root
	kinds
)

// Proves tells whether data that passes the check can't have been made up, once the hash
// that it leads to is given.
func (k Kind) Proves() bool { return k >= HeaderHash && k <= ReceiptsRoot || k == Proof }

// Kinds is a set of them.
type Kinds uint16

// Of is the set with one kind.
func Of(k Kind) Kinds { return 1 << k }

// Has tells whether a kind is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// Finding is what is wrong with an answer.
type Finding struct {
	Kind  Kind
	Shape uint64   // which fields the data has: exceptions are made for one shape
	Claim [32]byte // the hash that the data claims to have, or whose part it is
	// Foreign data has fields or a type that Ethereum doesn't have, or lacks some: the
	// chain may hash it in its own way.
	Foreign bool
	What    string
}

func (f *Finding) Error() string { return f.What }

// Agrees tells whether two nodes make the same claim about the same data. It must be
// two different nodes whose findings are compared.
func (f *Finding) Agrees(o *Finding) bool {
	return f.Kind != Identity && f.Claim != [32]byte{} && f.Kind == o.Kind && f.Shape == o.Shape && f.Claim == o.Claim
}

func falsely(k Kind, what string, args ...any) *Finding {
	return &Finding{Kind: k, What: fmt.Sprintf(what, args...)}
}
