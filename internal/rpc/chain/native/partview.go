package native

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Account is an account that a machine reads.
type Account struct {
	Nonce         uint64
	Balance       [32]byte
	Code, Storage [32]byte // the hash of its code, and the root of its storage
	Exists        bool
}

// Reads are what a machine reads a state with. What is not known makes a run void: whoever
// has learned it executes the call again.
type Reads struct {
	Account func(address [20]byte) (a Account, known bool)
	Slot    func(address [20]byte, slot [32]byte) (value [32]byte, known bool)
	Code    func(address [20]byte, hash [32]byte) (code []byte, known bool)
	Hash    func(number uint64) (hash [32]byte, known bool) // of a block before the one that is executed on
	// More tells whether a void run may go on, to find what else isn't known.
	More func() bool
}

// partView is a state of which a part is known. What isn't is read as if there were nothing.
type partView struct {
	reads    Reads
	x        *execution
	isMissed bool
}

var errMissed = errors.New("something of the state is not known")

func (v *partView) missed() bool { return v.isMissed }

// miss notes that something is not known. In the heavy lane a void run ends at once.
func (v *partView) miss() {
	v.isMissed = true
	if v.x.halt != nil && (!v.x.light || !v.reads.More()) {
		v.x.halt()
	}
}

func (v *partView) account(addr common.Address) (*types.StateAccount, error) { return v.Account(addr) }

// Account is nil where there is none.
func (v *partView) Account(addr common.Address) (*types.StateAccount, error) {
	a, known := v.reads.Account(addr)
	switch {
	case !known:
		v.miss()
		return nil, errMissed
	case !a.Exists:
		return nil, nil
	}
	return &types.StateAccount{Nonce: a.Nonce, Balance: new(uint256.Int).SetBytes32(a.Balance[:]), Root: a.Storage, CodeHash: a.Code[:]}, nil
}

func (v *partView) Storage(addr common.Address, slot common.Hash) (common.Hash, error) {
	value, known := v.reads.Slot(addr, slot)
	if !known {
		v.miss()
		return common.Hash{}, errMissed
	}
	return value, nil
}

func (v *partView) Code(addr common.Address, hash common.Hash) []byte {
	if hash == types.EmptyCodeHash {
		return nil
	}
	code, known := v.reads.Code(addr, hash)
	if !known {
		v.miss()
	}
	return code
}

func (v *partView) CodeSize(addr common.Address, hash common.Hash) int {
	return len(v.Code(addr, hash))
}

func (v *partView) Has(addr common.Address, hash common.Hash) bool {
	return len(v.Code(addr, hash)) > 0
}

// hashOf is the hash of a block before one, for BLOCKHASH. A block whose number is not its
// own has one ancestor that go-ethereum finds.
func (v *partView) hashOf(h *types.Header, moved bool) func(uint64) common.Hash {
	return func(n uint64) common.Hash {
		switch number := h.Number.Uint64(); {
		case n >= number:
			return common.Hash{}
		case n+1 == number:
			return h.ParentHash
		case moved:
			return common.Hash{}
		}
		hash, known := v.reads.Hash(n)
		if !known {
			v.miss()
		}
		return hash
	}
}
