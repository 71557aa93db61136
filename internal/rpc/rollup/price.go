package rollup

import (
	"encoding/binary"
	"math/big"
	"strconv"
)

const weiPerKwei = 1000

// The layout of extra data: a version, three big-endian prices, zeros.
const (
	extraDataVersion = 0x01
	extraDataUsed    = 13
	extraDataSize    = 32
)

// Pricing is what a rollup's sequencer writes into the extra data of a block:
// what the next transactions have to pay, in thousands of wei.
type Pricing struct {
	FixedKwei, VariableKwei, EthGasPriceKwei uint32
}

// EncodeExtraData writes prices as the 32 bytes of a block's extra data.
func EncodeExtraData(p Pricing) []byte {
	b := make([]byte, extraDataSize)
	b[0] = extraDataVersion
	binary.BigEndian.PutUint32(b[1:], p.FixedKwei)
	binary.BigEndian.PutUint32(b[5:], p.VariableKwei)
	binary.BigEndian.PutUint32(b[9:], p.EthGasPriceKwei)
	return b
}

// decodeExtraData reads the prices of a block. It reports false for extra data
// that is too short or of another version. What follows the prices is ignored:
// zeros, or the seal of a proof-of-authority block.
func decodeExtraData(b []byte) (Pricing, bool) {
	if len(b) < extraDataUsed || b[0] != extraDataVersion {
		return Pricing{}, false
	}
	return Pricing{
		FixedKwei:       binary.BigEndian.Uint32(b[1:]),
		VariableKwei:    binary.BigEndian.Uint32(b[5:]),
		EthGasPriceKwei: binary.BigEndian.Uint32(b[9:]),
	}, true
}

// costs are the prices of the block, or the configured ones where it has none.
func (c Config) costs(m market) (fixed, variable int64) {
	if !m.priced {
		return c.FixedCostWei, c.VariableCostWei
	}
	return int64(m.pricing.FixedKwei) * weiPerKwei, int64(m.pricing.VariableKwei) * weiPerKwei
}

// minGasPrice is the configured one, or what the block says where none is.
func (c Config) minGasPrice(m market) uint64 {
	if c.MinGasPriceWei != 0 {
		return c.MinGasPriceWei
	}
	return uint64(m.pricing.EthGasPriceKwei) * weiPerKwei
}

// profitableFee is the priority fee that pays for publishing size bytes through
// gas units of gas.
//
// The network divides in whole numbers and multiplies by the margin in floating
// point, and so must we, to agree with it to the last wei. With the bounds of
// Config and of extra data the product stays below 2^63. gas is at least 1.
func profitableFee(margin float64, fixed, variable, size, gas int64) *big.Int {
	profit := margin * float64(variable*size/gas+fixed)
	fee, _ := big.NewFloat(profit).Int(nil)
	return fee
}

// compatibleFee is the priority fee that lifts the base fee to a multiple of the
// minimum gas price. Where the base fee is past the minimum there is nothing to lift.
//
// The multiplier counts as the decimal number that was configured, not as its
// nearest binary fraction: rounding up would make a wei of the difference.
func compatibleFee(multiplier float64, minGasPrice uint64, baseFee *big.Int) *big.Int {
	gap := new(big.Int).SetUint64(minGasPrice)
	gap.Sub(gap, baseFee)
	if gap.Sign() <= 0 {
		return new(big.Int)
	}
	factor, ok := new(big.Rat).SetString(strconv.FormatFloat(multiplier, 'g', -1, 64))
	if !ok {
		return gap // unreachable: New admits finite multipliers only
	}
	return ceil(factor.Mul(factor, new(big.Rat).SetInt(gap)))
}

// ceil rounds a positive number up.
func ceil(r *big.Rat) *big.Int {
	quotient, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}
