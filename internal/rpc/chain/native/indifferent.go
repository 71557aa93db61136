package native

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
)

// delegation starts the code of an account that points to another's (EIP-7702).
var delegation = []byte{0xef, 0x01, 0x00}

// indifferent reports whether a contract runs the same steps whatever gas it is
// given, as long as it is enough: it never looks at the gas left and never shares
// it with another call. Then one run tells how most others would end.
func (x *execution) indifferent(to *common.Address) bool {
	if to == nil {
		return false
	}
	acct, err := x.view.account(*to)
	if err != nil || acct == nil {
		return false
	}
	hash := common.BytesToHash(acct.CodeHash)
	if known, ok := x.engine.known.GetIfPresent(hash); ok {
		return known
	}
	code := x.view.Code(*to, hash)
	result := len(code) > 0 && !bytes.HasPrefix(code, delegation) && !looksAtGas(code)
	x.engine.known.Set(hash, result)
	return result
}

// looksAtGas finds instructions whose effect depends on the gas left. Data behind
// the code may look like one; that only means that every run is made.
func looksAtGas(code []byte) bool {
	for i := 0; i < len(code); i++ {
		switch op := vm.OpCode(code[i]); {
		case op >= vm.PUSH1 && op <= vm.PUSH32:
			i += int(op-vm.PUSH1) + 1
		case op == vm.GAS, op == vm.CREATE, op == vm.CREATE2, op == vm.CALL, op == vm.CALLCODE,
			op == vm.DELEGATECALL, op == vm.STATICCALL, op == vm.SELFDESTRUCT:
			return true
		}
	}
	return false
}
