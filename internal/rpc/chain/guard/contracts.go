package guard

import (
	"math"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
)

// Addresses of the precompiled contracts whose time grows with their input, beside the
// hashes.
var (
	modexpAddress  = common.BytesToAddress([]byte{0x05})
	bnPairAddress  = common.BytesToAddress([]byte{0x08})
	blakeAddress   = common.BytesToAddress([]byte{0x09})
	blsG1Address   = common.BytesToAddress([]byte{0x0c})
	blsG2Address   = common.BytesToAddress([]byte{0x0e})
	blsPairAddress = common.BytesToAddress([]byte{0x0f})
)

// longRunning are the contracts that one call can keep busy for longer than a light slice.
var longRunning = []common.Address{modexpAddress, bnPairAddress, blakeAddress, blsG1Address, blsG2Address, blsPairAddress}

// Bounds on how long the contracts take, about twice what was measured for the slowest
// inputs. Gas prices work, so time follows gas closely enough for an estimate. Modular
// powers with small moduli are the exception: each byte of the exponent takes time that
// its gas doesn't show.
const (
	perGas      = 40 * time.Nanosecond
	perPointGas = 50 * time.Nanosecond // in pieces
	perPowerGas = 15 * time.Nanosecond
	perExponent = 1500 * time.Nanosecond
	longest     = math.MaxInt64 / perExponent / 2 // what can be multiplied without overflow
)

// estimate is how long a contract takes, at most. BLAKE2 gets the least it takes instead:
// its rounds are run in slices, so only what is surely too long is refused beforehand.
func estimate(addr common.Address, gas uint64, input []byte) time.Duration {
	work := time.Duration(min(gas, uint64(longest)))
	switch addr {
	case blakeAddress:
		return work * blakeRound
	case blsG1Address, blsG2Address:
		return work * perPointGas
	case modexpAddress:
		return work*perPowerGas + exponentBytes(input)*perExponent
	}
	return work * perGas
}

// exponentBytes is the length of a modular power's exponent: the second of the three
// lengths that its input begins with.
func exponentBytes(input []byte) time.Duration {
	if len(input) <= 32 {
		return 0
	}
	var field [32]byte
	copy(field[:], input[32:])
	if n := new(big.Int).SetBytes(field[:]); n.IsUint64() {
		return time.Duration(min(n.Uint64(), uint64(longest)))
	}
	return longest
}

// contract is a precompiled contract that asks a guard first. RequiredGas is always asked
// right before Run, so what it answered is known there.
type contract struct {
	vm.PrecompiledContract
	addr common.Address
	set  *Contracts
	gas  uint64
}

// RequiredGas is go-ethereum's own.
func (c *contract) RequiredGas(input []byte) uint64 {
	c.gas = c.PrecompiledContract.RequiredGas(input)
	return c.gas
}

// Run runs the contract, or stops the execution.
func (c *contract) Run(input []byte) ([]byte, error) {
	return runGuarded(c.set.guard, c.PrecompiledContract, c.addr, c.gas, input)
}

// runGuarded runs go-ethereum's contract, long multiplications in pieces, and only long
// BLAKE2 runs with code of our own.
func runGuarded(g *Guard, p vm.PrecompiledContract, addr common.Address, gas uint64, input []byte) ([]byte, error) {
	g.spend(gas, estimate(addr, gas, input))
	if addr == blakeAddress && longBlake(input) {
		return blake2f(g, input), nil
	}
	if m, ok := multiplications[addr]; ok && m.long(input) {
		return m.run(g, p, input)
	}
	return p.Run(input)
}

// Contracts are the precompiled contracts of one fork for the EVM of one execution.
type Contracts struct {
	Map   vm.PrecompiledContracts
	guard *Guard
	fork  uint8
}

// Use sets who is asked from here on.
func (c *Contracts) Use(g *Guard) { c.guard = g }

// Pool keeps sets of contracts that are not in use: making one costs as much as a small
// call.
type Pool struct{ forks [256]sync.Pool }

// Get returns a set for the rules of a block.
func (p *Pool) Get(rules *params.Rules) *Contracts {
	fork := forkOf(rules)
	if c, ok := p.forks[fork].Get().(*Contracts); ok {
		return c
	}
	c := &Contracts{Map: vm.ActivePrecompiledContracts(*rules), fork: fork}
	for addr, inner := range c.Map {
		c.Map[addr] = &contract{PrecompiledContract: plain(inner), addr: addr, set: c}
	}
	return c
}

// Put takes a set back.
func (p *Pool) Put(c *Contracts) {
	c.guard = nil
	p.forks[c.fork].Put(c)
}

// forkOf numbers the sets of contracts that go-ethereum tells apart.
func forkOf(r *params.Rules) (fork uint8) {
	for i, active := range [...]bool{r.IsUBT, r.IsBogota, r.IsOsaka, r.IsPrague, r.IsCancun, r.IsBerlin, r.IsIstanbul, r.IsByzantium} {
		if active {
			fork |= 1 << i
		}
	}
	return fork
}
