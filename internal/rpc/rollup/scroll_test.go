package rollup

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Scroll's fees as its contract computes them, for the oracle of these tests.
type scrollPrices struct{ l1BaseFee, blobBaseFee, commitScalar, blobScalar, precision int64 }

func (p scrollPrices) curie(length int) int64 {
	return (p.commitScalar*p.l1BaseFee + int64(length)*p.blobBaseFee*p.blobScalar) / p.precision
}

func (p scrollPrices) feynman(length int, penalty int64) *big.Int {
	fee := big.NewInt((p.commitScalar*p.l1BaseFee + p.blobScalar*p.blobBaseFee) * int64(length))
	fee.Mul(fee, big.NewInt(penalty))
	return fee.Div(fee, big.NewInt(p.precision)).Div(fee, big.NewInt(p.precision))
}

// penalty is what a node, not the contract, multiplies with: the factor only where its
// compressor leaves much of a transaction.
func penalty(ratio, threshold, factor int64) int64 {
	if ratio >= threshold {
		return 1_000_000_000
	}
	return factor
}

// scrollRatio is the length before over that after. Scroll's nodes compress by zstd in
// frames without the magic number, and keep literals as they are; what grows counts as
// it is.
func scrollRatio(t *testing.T, tx []byte) int64 {
	t.Helper()
	const magic = 4
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithNoEntropyCompression(true), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	if err != nil {
		t.Fatal(err)
	}
	compressed := len(w.EncodeAll(tx, nil)) - magic
	return int64(len(tx)) * 1_000_000_000 / int64(min(compressed, len(tx)))
}

// The transactions of Scroll's own tests of its ratio.
const (
	etherTransfer = "02f86b83082750830461a40183830fb782523f94802b65b5d9016621e66003aed0b16615093f328b8080c001" +
		"a0a1fa6bbede5ae355eaec83fdcda65eab240476895e649576552850de726596cc" +
		"a0424eb1f5221865817b270d85caf8611d35ea6d7c2e86c9c31af5c06df04a2587"
	scrTransfer = "02f8b28308275001830f4240840279876683015c2894d29687c813d741e2f938f4ac377128810e217b1b80b844a9059cbb" +
		"000000000000000000000000687b50a70d33d71f9a82dd330b8c091e4d772508" +
		"00000000000000000000000000000000000000000000000ac96dda943e512bb9c080" +
		"a0fdacacd07ed7c708e2193b803d731d3d288dcd39c317f321f243cd790406868b" +
		"a0285444ab799632c88fd47c874c218bceb1589843949b5bc0f3ead1df069f3233"
)

func TestScrollVectors(t *testing.T) {
	data := unhex(t, "000a0100")
	before := calldataFee{big.NewInt(15e6), big.NewInt(100), big.NewInt(10), scrollPrecision}
	if got := before.of(calldataGas(data) + lengthBytes*nonZeroGas); got.Int64() != 30 {
		t.Errorf("before curie: %v, want 30", got)
	}
	curie := scrollPrices{1.5e9, 1.5e8, 10, 10, 1e9}
	if got := curie.curie(len(data)); got != 21 {
		t.Errorf("curie: %d, want 21", got)
	}
	feynman := scrollPrices{1e9, 1e9, 10, 20, 1e9}
	for penalty, want := range map[int64]int64{1e9: 3000, 2e9: 6000} {
		if got := feynman.feynman(100, penalty); got.Int64() != want {
			t.Errorf("feynman: %v, want %d", got, want)
		}
	}
}

// TestScrollTellsABound holds what the ratios mean for us: a node, which knows them,
// charges at most what its contract says, which doesn't, wherever the threshold is.
func TestScrollTellsABound(t *testing.T) {
	prices, factor := scrollPrices{1e9, 1e9, 10, 20, 1e9}, int64(2e9)
	for _, c := range []struct {
		name, tx string
		ratio    int64
	}{{"ether transfer", etherTransfer, 1_000_000_000}, {"SCR transfer", scrTransfer, 1_117_283_950}} {
		tx := unhex(t, c.tx)
		if got := scrollRatio(t, tx); got != c.ratio {
			t.Errorf("%s: ratio %d, want %d", c.name, got, c.ratio)
		}
		told, least := prices.feynman(len(tx), factor), prices.feynman(len(tx), 1e9)
		for threshold, want := range map[int64]*big.Int{c.ratio: least, c.ratio + 1: told} {
			got := prices.feynman(len(tx), penalty(c.ratio, threshold, factor))
			if got.Cmp(want) != 0 || got.Cmp(told) > 0 {
				t.Errorf("%s at %d: a node charges %v, want %v; told %v", c.name, threshold, got, want, told)
			}
		}
	}
}

// TestScrollBeforeCurie has an oracle that runs out of gas on the transaction, and one
// that doesn't know the upgrade.
func TestScrollBeforeCurie(t *testing.T) {
	for name, knows := range map[string]bool{"knows of curie": true, "older": false} {
		t.Run(name, func(t *testing.T) {
			network := oracle{feeScript(nil), func(_ string, input []byte) (string, error) {
				switch s := selector(input[:4]); {
				case s == isCurie && knows:
					return word(0), nil
				case s == getL1BaseFee:
					return word(15e6), nil
				case s == getOverhead:
					return word(100), nil
				case s == getScalar:
					return word(1e9), nil
				}
				return "", revert
			}}
			got, err := newNode(t, network, Config{Stack: Scroll, Remote: true}).Call(t.Context(), Method, []byte(`[`+transfer+`]`))
			if err != nil {
				t.Fatal(err)
			}
			want := int64(calldataGas(askedBytes(t, network.asked))+4*16+100) * 15e6
			if string(got) != fmt.Sprintf(`{"gasLimit":"0x5208","baseFeePerGas":"0x7","priorityFeePerGas":"0x5","l1DataFee":"%#x"}`, want) {
				t.Errorf("%s, want the fee %#x", got, want)
			}
		})
	}
}
