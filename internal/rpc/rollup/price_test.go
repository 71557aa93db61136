package rollup

import (
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestProfitableFee(t *testing.T) {
	const gwei = 1_000_000_000
	tests := []struct {
		name                       string
		margin                     float64
		fixed, variable, size, gas int64
		want                       int64
	}{
		{"transfer", 1.2, 30_000_000, gwei, 64, 21_000, 0x25d1eb6},
		{"token transfer", 1.2, 30_000_000, gwei / 10, 96, 60_000, 0x2283f00},
		{"noise", 1.2, 30_000_000, gwei / 10, 10_144, 181_000, 42_725_302},
		{"published sample, creation", 1.2, 30_000_000, gwei, 96, 53_793, 0x245fe65},
		{"published sample, transfer", 1.2, 30_000_000, 17_500_000_000, 128, 21_000, 0x9c670ff},
		{"free", 1.2, 0, 0, 64, 21_000, 0},
		{"divides before it adds", 1, 1, 1, 20_999, 21_000, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := profitableFee(tt.margin, tt.fixed, tt.variable, tt.size, tt.gas)
			if got.Cmp(big.NewInt(tt.want)) != 0 {
				t.Errorf("fee = %v, want %d", got, tt.want)
			}
		})
	}
}

// The largest prices, the longest transaction and the least gas stay in 64 bits.
func TestProfitableFeeBounds(t *testing.T) {
	longest := packedSize(maxEncoded+1, maxEncoded)
	product := new(big.Int).Mul(big.NewInt(maxCostWei), big.NewInt(int64(longest)))
	product.Add(product, big.NewInt(maxCostWei))
	if !product.IsInt64() {
		t.Fatalf("%v does not fit", product)
	}
	if got := profitableFee(1, maxCostWei, maxCostWei, int64(longest), 1); got.Sign() <= 0 {
		t.Errorf("fee = %v", got)
	}
	if got := profitableFee(maxFactor, maxCostWei, maxCostWei, int64(longest), 1); got.Cmp(product) <= 0 {
		t.Errorf("fee = %v, less than its cost %v", got, product)
	}
	if got := profitableFee(1, 0, maxCostWei, int64(longest), math.MaxInt64); got.Sign() != 0 {
		t.Errorf("fee = %v, want 0", got)
	}
}

func TestCompatibleFee(t *testing.T) {
	tests := []struct {
		name        string
		multiplier  float64
		minGasPrice uint64
		baseFee     int64
		want        uint64
	}{
		{"published", 1.2, 1_000_000_000, 7, 1_199_999_992},
		{"decimal, not binary", 1.1, 77, 7, 77},
		{"even", 1, 10, 7, 3},
		{"base fee at the minimum", 1.2, 7, 7, 0},
		{"base fee past the minimum", 1.2, 6, 7, 0},
		{"no minimum", 1.2, 0, 7, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := compatibleFee(tt.multiplier, tt.minGasPrice, big.NewInt(tt.baseFee))
			if !got.IsUint64() || got.Uint64() != tt.want {
				t.Errorf("fee = %v, want %d", got, tt.want)
			}
		})
	}
}

func TestExtraData(t *testing.T) {
	zeros := strings.Repeat("00", 19)
	tests := []struct {
		name, hex string
		want      Pricing
		ok        bool
	}{
		{"around half", "01 7ffffffe 7fffffff 80000000" + zeros, Pricing{2147483646, 2147483647, 2147483648}, true},
		{"extremes", "01 00000000 7fffffff ffffffff" + zeros, Pricing{0, 2147483647, 4294967295}, true},
		{"prices alone", "01 00000064 000000c8 0000012c", Pricing{100, 200, 300}, true},
		{"real", "01 00989680 015eb3c8 0000ea60" + zeros, Pricing{10_000_000, 22_983_624, 60_000}, true},
		{"with a seal", "01 00000064 000000c8 0000012c" + zeros + strings.Repeat("ff", 65), Pricing{100, 200, 300}, true},
		{"other version", "02 7ffffffe 7fffffff 80000000" + zeros, Pricing{}, false},
		{"version 0", strings.Repeat("00", 32), Pricing{}, false},
		{"short", "01 00000064 000000c8 000001", Pricing{}, false},
		{"empty", "", Pricing{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := unhex(t, tt.hex)
			got, ok := decodeExtraData(raw)
			if got != tt.want || ok != tt.ok {
				t.Errorf("decoded %v, %v; want %v, %v", got, ok, tt.want, tt.ok)
			}
			if encoded := EncodeExtraData(got); ok && len(raw) == len(encoded) && string(encoded) != string(raw) {
				t.Errorf("encoded again %x, want %x", encoded, raw)
			}
		})
	}
}

func FuzzExtraData(f *testing.F) {
	f.Add([]byte(nil), uint32(0), uint32(0), uint32(0))
	f.Add(EncodeExtraData(Pricing{1, 2, 3}), uint32(1), uint32(math.MaxUint32), uint32(7))
	f.Fuzz(func(t *testing.T, raw []byte, fixed, variable, gasPrice uint32) {
		want := Pricing{fixed, variable, gasPrice}
		encoded := EncodeExtraData(want)
		if got, ok := decodeExtraData(encoded); !ok || got != want || len(encoded) != extraDataSize {
			t.Errorf("%v comes back as %v, %v from %x", want, got, ok, encoded)
		}
		if p, ok := decodeExtraData(raw); ok && string(EncodeExtraData(p)[:extraDataUsed]) != string(raw[:extraDataUsed]) {
			t.Errorf("%x comes back as %x", raw, EncodeExtraData(p))
		}
	})
}

func TestNextBaseFee(t *testing.T) {
	const limit = 30_000_000
	huge := new(big.Int).Lsh(big.NewInt(1), 255)
	tests := []struct {
		name              string
		baseFee           *big.Int
		gasLimit, gasUsed uint64
		want              *big.Int
	}{
		{"7 stays on an empty block", big.NewInt(7), limit, 0, big.NewInt(7)},
		{"7 stays at the target", big.NewInt(7), limit, limit / 2, big.NewInt(7)},
		{"7 stays just below the target", big.NewInt(7), limit, limit/2 - 1, big.NewInt(7)},
		{"7 rises by the least step", big.NewInt(7), limit, limit/2 + 1, big.NewInt(8)},
		{"a full block adds an eighth", big.NewInt(1_000_000_000), limit, limit, big.NewInt(1_125_000_000)},
		{"an empty block takes an eighth", big.NewInt(1_000_000_000), limit, 0, big.NewInt(875_000_000)},
		{"the standard's example up", big.NewInt(1_000_000_000), 20_000_000, 11_000_000, big.NewInt(1_012_500_000)},
		{"the standard's example down", big.NewInt(1_000_000_000), 20_000_000, 9_000_000, big.NewInt(987_500_000)},
		{"zero rises", new(big.Int), limit, limit, big.NewInt(1)},
		{"zero stays", new(big.Int), limit, 0, new(big.Int)},
		{"no gas limit", big.NewInt(7), 0, 0, big.NewInt(7)},
		{"a target of nothing", big.NewInt(7), 1, 1, big.NewInt(7)},
		{"more used than the limit", big.NewInt(800), 100, math.MaxUint64, nil},
		{"a fee of 256 bits", huge, limit, 0, new(big.Int).Sub(huge, new(big.Int).Rsh(huge, 3))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := new(big.Int).Set(tt.baseFee)
			got := nextBaseFee(tt.baseFee, tt.gasLimit, tt.gasUsed)
			if tt.want != nil && got.Cmp(tt.want) != 0 {
				t.Errorf("next = %v, want %v", got, tt.want)
			}
			if tt.baseFee.Cmp(before) != 0 {
				t.Errorf("the block's own base fee changed to %v", tt.baseFee)
			}
		})
	}
}
