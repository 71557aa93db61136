package guard

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
)

// group is one of the groups of BLS12-381.
type group struct {
	name      string
	addr      common.Address
	generator []byte // encoded for the contracts
	outside   []byte // on the curve, and not in the subgroup
}

// field is an element of the base field: 48 bytes, padded to 64.
func field(hex string) []byte { return common.LeftPadBytes(common.FromHex(hex), 64) }

func groups() []group {
	return []group{
		{
			"G1", blsG1Address,
			slices.Concat(
				field("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"),
				field("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1")),
			slices.Concat(field("00"), field("02")), // y² = x³ + 4
		},
		{
			"G2", blsG2Address,
			slices.Concat(
				field("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"),
				field("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"),
				field("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"),
				field("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be")),
			slices.Concat(
				field("197bfd0342bbc8bee2beced2f173e1a87be576379b343e93232d6cef98d84b1d696e5612ff283ce2cfdccb2cfb65fa0c"),
				field("184e811f55e6f9d84d77d2f79102fd7ea7422f4759df5bf7f6331d550245e3f1bcf6a30e3b29110d85e0ca16f9f6ae7a"),
				field("0f10e1eb3c1e53d2ad9cf2d398b2dc22c5842fab0a74b174f691a7e914975da3564d835cd7d2982815b8ac57f507348f"),
				field("0767d1c453890f1b9110fda82f5815c27281aba3f026ee868e4176a0654feea41a96575e0c4d58a14dbfbcc05b5010b1")),
		},
	}
}

// pairs are multiples of the generator with random scalars. Among them are the point at
// infinity, and the scalars zero and the largest.
func (g group) pairs(t testing.TB, n int) (input []byte) {
	t.Helper()
	fill := rand.New(rand.NewPCG(11, uint64(n)))
	add := plain(vm.PrecompiledContractsPrague[multiplications[g.addr].add])
	point, err := g.generator, error(nil)
	for i := range n {
		scalar := make([]byte, 32)
		for j := range scalar {
			scalar[j] = byte(fill.Uint32())
		}
		given := point
		switch i % 37 {
		case 3:
			given = make([]byte, len(point))
		case 5:
			clear(scalar)
		case 7:
			scalar = bytes.Repeat([]byte{0xff}, 32)
		}
		input = append(append(input, given...), scalar...)
		if point, err = add.Run(slices.Concat(point, g.generator)); err != nil {
			t.Fatal(err)
		}
	}
	return input
}

// contracts are the guarded contract and go-ethereum's own.
func (g group) contracts(guard *Guard) (guarded, own vm.PrecompiledContract) {
	rules := forks()["prague"]
	var pool Pool
	set := pool.Get(&rules)
	set.Use(guard)
	return set.Map[g.addr], plain(vm.PrecompiledContractsPrague[g.addr])
}

// Multiplications in pieces have go-ethereum's result, gas and errors.
func TestMultiplicationsAreGoEthereums(t *testing.T) {
	for _, g := range groups() {
		low := relaxed()
		low.LowPriority()
		guarded, own := g.contracts(low)
		pair, piece := multiplications[g.addr].pair, multiplications[g.addr].piece
		all := g.pairs(t, 3*piece+2)
		for _, n := range []int{0, 1, 2, piece - 1, piece, piece + 1, 2*piece - 1, 2 * piece, 2*piece + 1, 3*piece + 2} {
			input := all[:n*pair]
			if _, err := own.Run(input); err != nil && n > 0 {
				t.Fatalf("%s: %d pairs are no good input: %v", g.name, n, err)
			}
			same(t, guarded, own, input)
			same(t, guarded, own, append(slices.Clone(input), 0)) // misaligned
		}
		same(t, guarded, own, make([]byte, (2*piece+1)*pair))     // infinity only
		same(t, guarded, own, slices.Repeat(all[:pair], 2*piece)) // pieces with the same sum
		for _, at := range []int{0, piece - 1, piece, 2*piece + 1} {
			bad := slices.Clone(all)
			bad[at*pair] = 1 // not an element of the field
			same(t, guarded, own, bad)
			copy(bad[at*pair:], g.outside)
			if _, err := own.Run(bad); err == nil || !strings.Contains(err.Error(), "subgroup") {
				t.Errorf("%s: a point outside of the subgroup: %v", g.name, err)
			}
			same(t, guarded, own, bad)
		}
	}
}

// counted counts how many pairs a contract gets at once, and stops the guard at a call.
type counted struct {
	vm.PrecompiledContract
	guard  *Guard
	stopAt int
	calls  []int
}

func (c *counted) Run(input []byte) ([]byte, error) {
	if c.calls = append(c.calls, len(input)); len(c.calls) == c.stopAt {
		c.guard.Stop()
	}
	return c.PrecompiledContract.Run(input)
}

// A multiplication looks at the guard between pieces, and ends there.
func TestMultiplicationsStop(t *testing.T) {
	for _, g := range groups() {
		_, own := g.contracts(nil)
		guard := New(time.Now().Add(time.Hour), Unlimited)
		c := &counted{PrecompiledContract: own, guard: guard, stopAt: 2}
		m := multiplications[g.addr]
		input := g.pairs(t, 4*m.piece)
		err := Run(func() error {
			_, err := runGuarded(guard, c, g.addr, own.RequiredGas(input), input)
			return err
		})
		if !errors.Is(err, ErrStopped) || !slices.Equal(c.calls, []int{m.piece * m.pair, m.piece * m.pair}) {
			t.Errorf("%s: %v after %v bytes", g.name, err, c.calls)
		}
	}
}

// BenchmarkMultiplications shows what the pieces cost, and nanoseconds per gas.
func BenchmarkMultiplications(b *testing.B) {
	for _, g := range groups() {
		for _, n := range []int{128, 700, 4000} {
			guarded, own := g.contracts(relaxed())
			input := g.pairs(b, n)
			gas := guarded.RequiredGas(input)
			for _, which := range []string{"ours", "own"} {
				run := map[string]vm.PrecompiledContract{"ours": guarded, "own": own}[which]
				b.Run(fmt.Sprintf("%s/%d/%s", g.name, n, which), func(b *testing.B) {
					for b.Loop() {
						if _, err := run.Run(input); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(gas), "ns/gas")
				})
			}
		}
	}
}
