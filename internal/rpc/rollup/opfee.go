package rollup

import (
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// Where the OP stack's L1Block contract keeps the prices.
const (
	slotBaseFee     = 1
	slotScalars     = 3
	slotOverhead    = 5 // before Ecotone, and so is the next
	slotScalar      = 6
	slotBlobBaseFee = 7
	slotOperator    = 8
)

// What the formulas are made of. The signature is missing from what they measure.
const (
	signatureBytes = 68
	zeroGas        = 4
	nonZeroGas     = 16

	opDecimals  = 1_000_000
	flzFactor   = 836_500
	flzOffset   = -42_585_600
	leastScaled = 100 * opDecimals
)

// opPrices is what a byte on the base layer costs.
type opPrices struct {
	baseFee, blobBaseFee             *big.Int
	baseFeeScalar, blobBaseFeeScalar uint32
}

func readPrices(baseFee, scalars, blobBaseFee common.Hash) opPrices {
	return opPrices{
		baseFee: baseFee.Big(), blobBaseFee: blobBaseFee.Big(),
		baseFeeScalar: binary.BigEndian.Uint32(scalars[16:]), blobBaseFeeScalar: binary.BigEndian.Uint32(scalars[20:]),
	}
}

// scaled is the price of sixteen bytes, times a million.
func (p opPrices) scaled() *big.Int {
	base := new(big.Int).Mul(big.NewInt(nonZeroGas*int64(p.baseFeeScalar)), p.baseFee)
	return base.Add(base, new(big.Int).Mul(big.NewInt(int64(p.blobBaseFeeScalar)), p.blobBaseFee))
}

// fjord is the fee by compressed size, since the upgrade of that name.
func (p opPrices) fjord(compressed int) *big.Int {
	fee := new(big.Int).Mul(big.NewInt(fjordSize(compressed)), p.scaled())
	return fee.Div(fee, big.NewInt(opDecimals*opDecimals))
}

// fjordSize estimates the published size from the compressed one, times a million.
func fjordSize(compressed int) int64 {
	return max(leastScaled, flzOffset+flzFactor*int64(compressed))
}

// ecotone is the fee by the gas that the bytes would take as calldata, before Fjord.
func (p opPrices) ecotone(gas int) *big.Int {
	fee := new(big.Int).Mul(big.NewInt(int64(gas)), p.scaled())
	return fee.Div(fee, big.NewInt(nonZeroGas*opDecimals))
}

func calldataGas(tx []byte) (gas int) {
	for _, b := range tx {
		if b == 0 {
			gas += zeroGas
		} else {
			gas += nonZeroGas
		}
	}
	return gas
}

// operatorTerms is the slot with the operator's scalar and constant.
type operatorTerms common.Hash

// fee is what the operator takes: the scalar is a millionth of a wei a unit of gas
// since Isthmus, and a hundred wei since Jovian.
func (t operatorTerms) fee(gas uint64, jovian bool) *big.Int {
	fee := new(big.Int).SetUint64(gas)
	fee.Mul(fee, big.NewInt(int64(binary.BigEndian.Uint32(t[20:]))))
	if jovian {
		fee.Mul(fee, big.NewInt(100))
	} else {
		fee.Div(fee, big.NewInt(opDecimals))
	}
	return fee.Add(fee, new(big.Int).SetUint64(binary.BigEndian.Uint64(t[24:])))
}
