package verify

import (
	"errors"

	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// Account is what a proof shows of an account. One that doesn't exist has no balance, no
// code and an empty storage.
type Account struct {
	Nonce         uint64
	Balance       [32]byte
	Code, Storage [32]byte // the hash of its code, and the root of its storage
}

// NoCode is the hash of no code, and NoStorage the root of an empty storage.
var (
	NoCode    = emptyCode
	NoStorage = emptyRoot
)

// Proves tells whether accounts of a rollup stack can be proven here; "" is no known one.
func Proves(stack string) bool { return !(rules{stack}).off().Has(Proof) }

var errUnreadable = errors.New("it can't be read")

// Prove checks the proof of an account against a state root, and returns what it shows: the
// account, and the slots in the order of the keys in params. It makes no exceptions.
func (c *Checker) Prove(root [32]byte, params, result []byte) (a Account, slots [][32]byte, err error) {
	asked, ok := elements(nil, params)
	if !ok || len(asked) < 2 {
		return a, nil, errUnreadable
	}
	s := c.pool.Get().(*scratch)
	defer c.pool.Put(s)
	f := s.proof(&Header{StateRoot: root}, params, result)
	s.release()
	if f != nil {
		return a, nil, f
	}
	return reading(result)
}

// reading reads what a proof shows that holds.
func reading(result []byte) (a Account, slots [][32]byte, err error) {
	v, ok := members(result, "balance", "nonce", "codeHash", "storageHash", "storageProof")
	balance, okBalance := word(v[0])
	nonce, okNonce := hexjson.Quantity(v[1])
	list, okList := elements(nil, v[4])
	if !ok || !okBalance || !okNonce || !okList || !fixed(a.Code[:], v[2]) || !fixed(a.Storage[:], v[3]) {
		return a, nil, errUnreadable
	}
	a.Balance, a.Nonce = balance, nonce
	if a.Code == ([32]byte{}) { // some say so of an account that doesn't exist
		a.Code = NoCode
	}
	if a.Storage == ([32]byte{}) {
		a.Storage = NoStorage
	}
	for _, raw := range list {
		slot, ok := members(raw, "value")
		value, fine := word(slot[0])
		if !ok || !fine {
			return a, nil, errUnreadable
		}
		slots = append(slots, value)
	}
	return a, slots, nil
}
