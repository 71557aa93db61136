package guard

import (
	"runtime"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
)

// multiplication is a contract that multiplies points of BLS12-381 with scalars and adds
// the products (EIP-2537).
type multiplication struct {
	pair  int // bytes of a point and a scalar
	piece int // pairs that are multiplied without a look at the guard
	add   common.Address
}

// multiplications are those of both groups. go-ethereum's library starts goroutines for
// each piece, which run at normal priority on every core and can't be stopped. A piece takes
// 5 to 10 ms, half of it in the calling goroutine; the pieces together take up to 1.6 times
// as long as the whole would.
var multiplications = map[common.Address]multiplication{
	blsG1Address: {160, 32, common.BytesToAddress([]byte{0x0b})},
	blsG2Address: {288, 64, common.BytesToAddress([]byte{0x0d})},
}

// long reports whether an input is good and has more pairs than are multiplied at once.
func (m multiplication) long(input []byte) bool {
	return len(input)%m.pair == 0 && len(input) > m.piece*m.pair
}

// run adds the results of pieces of the input, with go-ethereum's own contracts. The first
// error is the one that the whole input has.
func (m multiplication) run(g *Guard, p vm.PrecompiledContract, input []byte) (sum []byte, err error) {
	add := plain(vm.PrecompiledContractsPrague[m.add])
	for piece := range slices.Chunk(input, m.piece*m.pair) {
		g.pause()
		part, err := p.Run(piece)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = part
			continue
		}
		if sum, err = add.Run(slices.Concat(sum, part)); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// pause is asked between pieces of long work, and lets others go first.
func (g *Guard) pause() {
	g.check()
	if g.low {
		g.rests.Now()
		return
	}
	runtime.Gosched()
}
