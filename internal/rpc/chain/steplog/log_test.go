package steplog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/test/full"
)

// options makes a configuration of some bits.
func options(bits byte) *logger.Config {
	c := &logger.Config{
		EnableMemory: bits&1 != 0, EnableReturnData: bits&2 != 0,
		DisableStack: bits&4 != 0, DisableStorage: bits&8 != 0,
	}
	if bits&16 != 0 {
		c.Limit = 1000
	}
	return c
}

// both are two tracers that see the same execution.
func both(theirs *logger.StructLogger, ours *Log) *tracing.Hooks {
	a, b := theirs.Hooks(), ours.Hooks()
	return &tracing.Hooks{
		OnTxStart: func(env *tracing.VMContext, tx *types.Transaction, from common.Address) {
			a.OnTxStart(env, tx, from)
			b.OnTxStart(env, tx, from)
		},
		OnTxEnd: func(receipt *types.Receipt, err error) {
			a.OnTxEnd(receipt, err)
			b.OnTxEnd(receipt, err)
		},
		OnExit: func(depth int, output []byte, used uint64, err error, reverted bool) {
			a.OnExit(depth, output, used, err, reverted)
			b.OnExit(depth, output, used, err, reverted)
		},
		OnOpcode: func(pc uint64, op byte, gas, cost uint64, scope tracing.OpContext, rData []byte, depth int, err error) {
			a.OnOpcode(pc, op, gas, cost, scope, rData, depth, err)
			ours.Step(pc, op, gas, cost, scope, rData, depth, err)
		},
	}
}

// compare runs code and holds the log to go-ethereum's.
func compare(t *testing.T, chunks *Chunks, code, input []byte, bits byte) (size int) {
	t.Helper()
	theirs, ours := logger.NewStructLogger(options(bits)), New(options(bits), chunks)
	_, _, _ = runtime.Execute(code, input, &runtime.Config{
		GasLimit: 200_000, ChainConfig: params.MergedTestChainConfig,
		EVMConfig: vm.Config{Tracer: both(theirs, ours)},
	})
	want, err := theirs.GetResult()
	got, gotErr := ours.Result()
	if err != nil || gotErr != nil {
		t.Fatal(err, gotErr)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("code %x, options %b:\n%.3000s\nwant\n%.3000s", code, bits, got, want)
	}
	return len(got)
}

// programs are code that shows every part of an entry.
var programs = []string{
	"",                             // nothing
	"5b600056",                     // a loop
	"60016000556000546000600055",   // storage, refund
	"600160005560026001555f545f5f", // two slots
	"7f" + "ff00000000000000000000000000000000000000000000000000000000000001" + "5f52" + "60205ff3", // memory and a result
	"63deadbeef5f5260045ffd",       // reverted
	"5f5f5f5f5f60045af13d5f5f3e00", // a precompiled contract and its data
	"0c",                           // no instruction
	"fe",                           // invalid
	"01",                           // a stack that is too short
	"54",                           // SLOAD without a slot
	"60055f5560006000f0",           // a new contract
	"6f5f5f5f5f5f305af13d5f5f3e00005f525f5ff0", // recursion
}

func TestSameAsGoEthereum(t *testing.T) {
	full.Slow(t)
	var chunks Chunks
	for _, p := range programs {
		code, err := hex.DecodeString(p)
		if err != nil {
			t.Fatal(err)
		}
		for bits := range byte(32) {
			if size := compare(t, &chunks, code, []byte{1, 2, 3}, bits); size < 50 {
				t.Errorf("%s: an answer of %d bytes", p, size)
			}
		}
	}
}

// TestSameForRandomCode: chunks that were used before show nothing of their past.
func TestSameForRandomCode(t *testing.T) {
	var chunks Chunks
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		code := make([]byte, 1+random.IntN(60))
		for i := range code {
			code[i] = byte(random.Uint32())
			if random.IntN(3) > 0 { // mostly pushes, and what works on memory and storage
				code[i] = []byte{0x5f, 0x60, 0x61, 0x52, 0x54, 0x55, 0x80, 0x5b, 0x56, 0x20, 0x3e, 0xf1, 0x01}[random.IntN(13)]
			}
		}
		from := &chunks
		if random.IntN(4) == 0 {
			from = nil
		}
		compare(t, from, code, nil, byte(random.Uint32()))
	}
}

func FuzzLog(f *testing.F) {
	for _, p := range programs {
		code, _ := hex.DecodeString(p)
		f.Add(code, []byte{}, byte(3))
	}
	var chunks Chunks
	f.Fuzz(func(t *testing.T, code, input []byte, bits byte) {
		if len(code) <= 1024 && len(input) <= 1024 {
			compare(t, &chunks, code, input, bits)
		}
	})
}

func TestStopped(t *testing.T) {
	var chunks Chunks
	l := New(nil, &chunks)
	want := errors.New("enough")
	l.Stop(want)
	if l.Step(0, 0, 0, 0, nil, nil, 1, nil) != 0 {
		t.Error("it logs on")
	}
	if _, err := l.Result(); !errors.Is(err, want) {
		t.Errorf("the result is %v", err)
	}
	l.Free()
	l.Free()
}

// BenchmarkLog compares the two on a loop.
func BenchmarkLog(b *testing.B) {
	code, _ := hex.DecodeString("5b600056")
	run := func(b *testing.B, hooks func() (*tracing.Hooks, func())) {
		b.ReportAllocs()
		for b.Loop() {
			h, end := hooks()
			_, _, _ = runtime.Execute(code, nil, &runtime.Config{GasLimit: 1_000_000, ChainConfig: params.MergedTestChainConfig, EVMConfig: vm.Config{Tracer: h}})
			end()
		}
	}
	b.Run("nodegate", func(b *testing.B) {
		var chunks Chunks
		run(b, func() (*tracing.Hooks, func()) {
			l := New(nil, &chunks)
			h := l.Hooks()
			h.OnOpcode = func(pc uint64, op byte, gas, cost uint64, scope tracing.OpContext, rData []byte, depth int, err error) {
				l.Step(pc, op, gas, cost, scope, rData, depth, err)
			}
			return h, func() { _, _ = l.Result() }
		})
	})
	b.Run("go-ethereum", func(b *testing.B) {
		run(b, func() (*tracing.Hooks, func()) {
			l := logger.NewStructLogger(nil)
			return l.Hooks(), func() { _, _ = l.GetResult() }
		})
	})
}
