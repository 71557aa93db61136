package rollup

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rlp"
)

// The transaction types of EIP-2718 that the rollup publishes.
const (
	legacyType     = 0
	accessListType = 1
	dynamicFeeType = 2
	setCodeType    = 4
)

// draft is the transaction that a call would become.
type draft struct {
	call    *call
	chainID *big.Int // nil on a legacy transaction without replay protection
	nonce   uint64
	gas     uint64
	baseFee *big.Int // the price where the call names none
	onChain bool     // a creation has no `to`, as in a real transaction
}

// kind guesses the type from the fields given, the newest first.
func (c *call) kind() byte {
	switch {
	case c.AuthorizationList != nil:
		return setCodeType
	case c.MaxFeePerGas != nil || c.MaxPriorityFeePerGas != nil:
		return dynamicFeeType
	case c.AccessList != nil:
		return accessListType
	}
	return legacyType
}

// encode writes the transaction as the rollup publishes it: the sender and what
// the sender signs. The signature is left out because the proof replaces it.
func (d draft) encode() ([]byte, error) {
	body, err := d.unsigned()
	if err != nil {
		return nil, err
	}
	var sender common.Address
	if d.call.From != nil {
		sender = *d.call.From
	}
	return append(sender[:], body...), nil
}

// unsigned writes what the sender signs.
func (d draft) unsigned() ([]byte, error) { return d.seal(d.fields(d.call.kind())) }

// signed writes the whole transaction with a signature that compresses no better
// than a real one. The chain id must be set.
func (d draft) signed() ([]byte, error) {
	longest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	v := big.NewInt(1)
	if d.call.kind() == legacyType {
		v = new(big.Int).Add(new(big.Int).Lsh(d.chainID, 1), big.NewInt(legacyV+1))
		d.chainID = nil // it is in the signature instead
	}
	return d.seal(append(d.fields(d.call.kind()), v, longest, longest))
}

// legacyV is what EIP-155 adds to twice the chain id.
const legacyV = 35

func (d draft) seal(fields []any) ([]byte, error) {
	body, err := rlp.EncodeToBytes(fields)
	if kind := d.call.kind(); err == nil && kind != legacyType {
		return append([]byte{kind}, body...), nil
	}
	return body, err
}

// fields lists what is signed, in the order of the type's standard.
func (d draft) fields(kind byte) []any {
	if kind == legacyType {
		fields := append([]any{d.nonce, d.gasPrice()}, d.body()...)
		if d.chainID != nil {
			fields = append(fields, d.chainID, uint(0), uint(0))
		}
		return fields
	}
	fields := []any{orZero(d.chainID), d.nonce}
	if kind == accessListType {
		fields = append(fields, d.gasPrice())
	} else {
		tip, feeCap := d.feeCaps()
		fields = append(fields, tip, feeCap)
	}
	fields = append(fields, d.body()...)
	fields = append(fields, d.call.AccessList)
	if kind == setCodeType {
		fields = append(fields, d.authorizations())
	}
	return fields
}

// body is the run of fields that all types share. A contract creation has the
// zero address for `to`: Linea's estimate encodes it so.
func (d draft) body() []any {
	var to any = common.Address{}
	switch {
	case d.call.To != nil:
		to = *d.call.To
	case d.onChain:
		to = []byte{}
	}
	return []any{d.gas, to, orZero(d.call.Value.ToInt()), d.call.payload()}
}

func (d draft) gasPrice() *big.Int {
	if d.call.GasPrice != nil {
		return d.call.GasPrice.ToInt()
	}
	return d.baseFee
}

// feeCaps are the given fields, the absent one zero. A set-code transaction may
// have neither, and then pays its gas price.
func (d draft) feeCaps() (tip, feeCap *big.Int) {
	if d.call.MaxFeePerGas == nil && d.call.MaxPriorityFeePerGas == nil {
		return d.gasPrice(), d.gasPrice()
	}
	return orZero(d.call.MaxPriorityFeePerGas.ToInt()), orZero(d.call.MaxFeePerGas.ToInt())
}

func (d draft) authorizations() []any {
	list := make([]any, len(d.call.AuthorizationList))
	for i := range list {
		a := &d.call.AuthorizationList[i]
		list[i] = []any{a.ChainID.ToInt(), a.Address, a.Nonce, a.YParity, a.R.ToInt(), a.S.ToInt()}
	}
	return list
}

// upfrontPrice is what the sender must hold for each unit of gas.
func (c *call) upfrontPrice(baseFee *big.Int) *big.Int {
	for _, given := range []*hexutil.Big{c.GasPrice, c.MaxFeePerGas} {
		if given != nil && given.ToInt().Sign() > 0 {
			return given.ToInt()
		}
	}
	return baseFee
}

func orZero(v *big.Int) *big.Int {
	if v == nil {
		return new(big.Int)
	}
	return v
}
