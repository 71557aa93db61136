package guard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
)

// forks are the rules of every fork whose contracts differ.
func forks() map[string]params.Rules {
	return map[string]params.Rules{
		"homestead": {},
		"byzantium": {IsByzantium: true},
		"istanbul":  {IsByzantium: true, IsIstanbul: true},
		"berlin":    {IsByzantium: true, IsIstanbul: true, IsBerlin: true},
		"cancun":    {IsByzantium: true, IsIstanbul: true, IsBerlin: true, IsCancun: true},
		"prague":    {IsByzantium: true, IsIstanbul: true, IsBerlin: true, IsCancun: true, IsPrague: true},
		"osaka":     {IsByzantium: true, IsIstanbul: true, IsBerlin: true, IsCancun: true, IsPrague: true, IsOsaka: true},
	}
}

// relaxed is a guard that stops nothing.
func relaxed() *Guard { return New(time.Now().Add(time.Hour), Unlimited) }

// same compares a guarded contract with go-ethereum's own for one input.
func same(t testing.TB, guarded, own vm.PrecompiledContract, input []byte) {
	t.Helper()
	if got, want := guarded.RequiredGas(input), own.RequiredGas(input); got != want {
		t.Errorf("%s(%x): gas %d, go-ethereum %d", own.Name(), input, got, want)
	}
	if own.RequiredGas(input) > 20_000_000 {
		return // it would take seconds
	}
	got, gotErr := guarded.Run(input)
	want, wantErr := own.Run(input)
	if !bytes.Equal(got, want) || (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Errorf("%s(%.100x): %x %v, go-ethereum %x %v", own.Name(), input, got, gotErr, want, wantErr)
	}
}

// blakeCall is an input of the BLAKE2 contract.
func blakeCall(rounds uint32, final byte, fill *rand.Rand) []byte {
	input := make([]byte, blakeInput)
	for i := range input {
		input[i] = byte(fill.Uint32())
	}
	binary.BigEndian.PutUint32(input, rounds)
	input[blakeFinal] = final
	return input
}

// modexpCall raises a number that fills its length to a power.
func modexpCall(base, exponent, modulus int) []byte {
	var input []byte
	for _, n := range []int{base, exponent, modulus} {
		input = append(input, common.BigToHash(big.NewInt(int64(n))).Bytes()...)
	}
	return append(input, bytes.Repeat([]byte{0xff}, base+exponent+modulus)...)
}

// inputs are good, bad and edge cases for every contract.
func inputs(fill *rand.Rand) [][]byte {
	list := [][]byte{nil, {0}, modexpCall(1, 1, 1), modexpCall(0, 0, 0), modexpCall(32, 32, 32), modexpCall(64, 200, 64), modexpCall(1025, 1, 1)}
	for _, n := range []int{31, 32, 64, 96, 128, 160, 192, 193, 212, 213, 214, 256, 288, 384, 512, 768, 1000} {
		random, zero := make([]byte, n), make([]byte, n)
		for i := range random {
			random[i] = byte(fill.Uint32())
		}
		list = append(list, random, zero)
	}
	for _, rounds := range []uint32{0, 1, 10, 12, blakeSlice, blakeSlice + 1, 2 * blakeSlice, 3*blakeSlice + 7, 100_003} {
		for _, final := range []byte{0, 1, 2, 255} {
			list = append(list, blakeCall(rounds, final, fill))
		}
	}
	short := blakeCall(blakeSlice*2, 1, fill)
	return append(list, short[:212], append(short, 0))
}

// Output and gas are go-ethereum's in every fork, for whatever input.
func TestContractsAreGoEthereums(t *testing.T) {
	fill := rand.New(rand.NewPCG(1, 2))
	var pool Pool
	for name, rules := range forks() {
		set := pool.Get(&rules)
		set.Use(relaxed())
		want := slices.Collect(maps.Keys(vm.ActivePrecompiledContracts(rules)))
		if got := slices.Collect(maps.Keys(set.Map)); len(got) != len(want) || len(vm.ActivePrecompiles(rules)) != len(want) {
			t.Errorf("%s has %d contracts, want %d", name, len(got), len(want))
		}
		for addr, own := range vm.ActivePrecompiledContracts(rules) {
			for _, input := range inputs(fill) {
				same(t, set.Map[addr], plain(own), input)
			}
		}
		pool.Put(set)
	}
}

// Bilinear inputs are the ones that pairings accept: pairs of zero points, which take the
// same path as any others.
func TestGoodPairings(t *testing.T) {
	rules := forks()["osaka"]
	var pool Pool
	set := pool.Get(&rules)
	set.Use(relaxed())
	for pairs := range 4 {
		same(t, set.Map[bnPairAddress], plain(vm.PrecompiledContractsOsaka[bnPairAddress]), make([]byte, 192*pairs))
		same(t, set.Map[blsPairAddress], plain(vm.PrecompiledContractsOsaka[blsPairAddress]), make([]byte, 384*pairs))
		same(t, set.Map[blsG1Address], plain(vm.PrecompiledContractsOsaka[blsG1Address]), make([]byte, 160*pairs))
		same(t, set.Map[blsG2Address], plain(vm.PrecompiledContractsOsaka[blsG2Address]), make([]byte, 288*pairs))
	}
}

func FuzzContracts(f *testing.F) {
	fill := rand.New(rand.NewPCG(3, 4))
	for i, input := range inputs(fill) {
		f.Add(uint8(i%9+1), input)
	}
	rules := forks()["osaka"]
	var pool Pool
	set := pool.Get(&rules)
	set.Use(relaxed())
	f.Fuzz(func(t *testing.T, number uint8, input []byte) {
		addr := common.BytesToAddress([]byte{number})
		if own, ok := vm.PrecompiledContractsOsaka[addr]; ok && own.RequiredGas(input) < 1_000_000 {
			same(t, set.Map[addr], plain(own), input)
		}
	})
}

// stopsWith runs a contract as an execution does and returns why it ended.
func stopsWith(g *Guard, addr common.Address, input []byte) (out []byte, err error) {
	rules := forks()["prague"]
	var pool Pool
	set := pool.Get(&rules)
	set.Use(g)
	err = Run(func() (err error) {
		set.Map[addr].RequiredGas(input)
		out, err = set.Map[addr].Run(input)
		return err
	})
	return out, err
}

// What is surely too long is not begun, and rounds are left in the middle.
func TestStops(t *testing.T) {
	fill := rand.New(rand.NewPCG(5, 6))
	long := blakeCall(4_000_000_000, 1, fill) // minutes
	second := time.Now().Add(time.Second)
	for name, c := range map[string]struct {
		g     *Guard
		addr  common.Address
		input []byte
	}{
		"more gas than the slice has": {New(time.Now().Add(time.Hour), 1_000_000), blakeAddress, blakeCall(1_000_001, 1, fill)},
		"a pairing of 5,000 pairs":    {New(second, Unlimited), bnPairAddress, make([]byte, 192*5000)},
		"a BLS pairing":               {New(second, Unlimited), blsPairAddress, make([]byte, 384*5000)},
		"a large power":               {New(second, Unlimited), modexpAddress, modexpCall(1024, 2048, 1024)},
		"endless rounds":              {New(second, Unlimited), blakeAddress, long},
	} {
		if out, err := stopsWith(c.g, c.addr, c.input); !errors.Is(err, ErrStopped) || out != nil || !c.g.Stopped() {
			t.Errorf("%s: %x %v", name, out, err)
		}
	}
	g := New(time.Now().Add(time.Hour), Unlimited)
	time.AfterFunc(20*time.Millisecond, g.Stop)
	if _, err := stopsWith(g, blakeAddress, long); !errors.Is(err, ErrStopped) {
		t.Errorf("stopped between rounds: %v", err)
	}
	if _, err := stopsWith(g, common.BytesToAddress([]byte{2}), nil); !errors.Is(err, ErrStopped) {
		t.Errorf("a cheap contract after that: %v", err)
	}
}

// go-ethereum's tables run guarded only where a goroutine has a guard.
func TestInstall(t *testing.T) {
	Install()
	Install() // twice is once
	fill := rand.New(rand.NewPCG(7, 8))
	input := blakeCall(2_000_000, 1, fill)
	own := vm.ActivePrecompiledContracts(forks()["osaka"])[blakeAddress]
	want, err := own.Run(input)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		gas  int64
		want error
	}{"enough": {Unlimited, nil}, "too little": {1000, ErrStopped}} {
		var got []byte
		err := New(time.Now().Add(time.Hour), c.gas).Here(func() (err error) {
			beside := make(chan []byte)
			go func() { // another goroutine is not guarded
				out, _ := own.Run(input)
				beside <- out
			}()
			if out := <-beside; !bytes.Equal(out, want) {
				t.Errorf("%s: beside a guarded goroutine: %x", name, out)
			}
			got, err = own.Run(input)
			return err
		})
		if !errors.Is(err, c.want) || c.want == nil && !bytes.Equal(got, want) {
			t.Errorf("%s: %x %v", name, got, err)
		}
	}
	if guarded.count.Load() != 0 || current() != nil {
		t.Error("a goroutine is still guarded")
	}
	if _, again := plain(own).(*dispatcher); again {
		t.Error("installed twice")
	}
}

// A crash that is not ours stays one.
func TestRunPassesOnOtherPanics(t *testing.T) {
	defer func() {
		if recover() != "other" {
			t.Error("the panic is gone")
		}
	}()
	_ = Run(func() error { panic("other") })
}

// BenchmarkContracts shows nanoseconds per gas: the estimates must be above.
func BenchmarkContracts(b *testing.B) {
	fill := rand.New(rand.NewPCG(9, 10))
	for name, c := range map[string]struct {
		addr  common.Address
		input []byte
	}{
		"blake": {blakeAddress, blakeCall(1_000_000, 1, fill)}, "modexp32": {modexpAddress, modexpCall(32, 4096, 32)},
		"modexp256": {modexpAddress, modexpCall(256, 256, 256)}, "modexp1024": {modexpAddress, modexpCall(1024, 1024, 1024)},
		"modexpodd": {modexpAddress, modexpCall(8, 8192, 1024)},
	} {
		rules := forks()["prague"]
		var pool Pool
		set := pool.Get(&rules)
		set.Use(relaxed())
		p := set.Map[c.addr]
		for which, run := range map[string]vm.PrecompiledContract{"ours": p, "own": plain(vm.PrecompiledContractsPrague[c.addr])} {
			b.Run(name+"/"+which, func(b *testing.B) {
				gas := p.RequiredGas(c.input)
				for b.Loop() {
					if _, err := run.Run(c.input); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(gas), "ns/gas")
			})
		}
	}
}
