package guard

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
)

// go-ethereum's API builds its own EVMs and takes the precompiled contracts from exported
// tables of package vm, the ones that block production and import use as well. There is no
// place to hand it other contracts. So Install puts entries into these tables that look
// which goroutine runs them: one that executes under a guard runs guarded, every other one
// runs go-ethereum's own contract. Cheap inputs don't even look.

// guarded are the goroutines that execute under a guard. It is one for the process, as
// the tables of package vm are.
var guarded struct {
	count atomic.Int32
	by    sync.Map // goroutine number → *Guard
}

// Install prepares go-ethereum's tables. It must be called before the first chain opens.
var Install = sync.OnceFunc(func() {
	for _, table := range []vm.PrecompiledContracts{
		vm.PrecompiledContractsByzantium, vm.PrecompiledContractsIstanbul, vm.PrecompiledContractsBerlin,
		vm.PrecompiledContractsCancun, vm.PrecompiledContractsPrague, vm.PrecompiledContractsOsaka,
	} {
		for _, addr := range longRunning {
			if inner, ok := table[addr]; ok {
				table[addr] = &dispatcher{PrecompiledContract: inner, addr: addr}
			}
		}
	}
	installTracer()
})

// dispatcher decides by goroutine whether a contract runs guarded. It is as cacheable as
// the contract that it stands for.
type dispatcher struct {
	vm.PrecompiledContract
	addr common.Address
}

// plain is go-ethereum's own contract.
func plain(p vm.PrecompiledContract) vm.PrecompiledContract {
	if d, ok := p.(*dispatcher); ok {
		return d.PrecompiledContract
	}
	return p
}

// brief is the estimated time from which on it matters who runs a contract.
const brief = time.Millisecond

// Run runs the contract, guarded where its goroutine is.
func (d *dispatcher) Run(input []byte) ([]byte, error) {
	if guarded.count.Load() == 0 {
		return d.PrecompiledContract.Run(input)
	}
	gas := d.RequiredGas(input)
	if estimate(d.addr, gas, input) < brief {
		return d.PrecompiledContract.Run(input)
	}
	g := current()
	if g == nil {
		return d.PrecompiledContract.Run(input)
	}
	return runGuarded(g, d.PrecompiledContract, d.addr, gas, input)
}

// Cacheable is the contract's own.
func (d *dispatcher) Cacheable() bool {
	c, ok := d.PrecompiledContract.(vm.CacheablePrecompile)
	return ok && c.Cacheable()
}

// NormalizeInput is the contract's own.
func (d *dispatcher) NormalizeInput(input []byte) ([]byte, bool) {
	if n, ok := d.PrecompiledContract.(vm.NormalizingPrecompile); ok {
		return n.NormalizeInput(input)
	}
	return input, true
}

// Here runs work in this goroutine under a guard: what go-ethereum's API executes for it
// is guarded too.
func (g *Guard) Here(work func() error) error {
	number := goroutine()
	guarded.by.Store(number, g)
	guarded.count.Add(1)
	defer func() {
		guarded.count.Add(-1)
		guarded.by.Delete(number)
		for _, end := range g.atEnd {
			end()
		}
	}()
	return Run(work)
}

// current is the guard of this goroutine, or nil.
func current() *Guard {
	g, _ := guarded.by.Load(goroutine())
	guard, _ := g.(*Guard)
	return guard
}

// goroutine is the number of the calling goroutine. The runtime shows it only at the head
// of a stack trace: "goroutine 7 [running]:". Reading it takes a microsecond.
func goroutine() uint64 {
	var head [64]byte
	text := head[:runtime.Stack(head[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	digits, _, _ := bytes.Cut(text, []byte(" "))
	number, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("guard: can't read the goroutine's number: " + string(text)) // the runtime's format changed
	}
	return number
}
