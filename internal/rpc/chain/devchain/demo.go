package devchain

import (
	_ "embed"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// DemoBalancesSlot is the slot of the demo contract's second variable,
// mapping(address => uint256) balances. The first one is in slot 0.
const DemoBalancesSlot = 1

var (
	//go:embed demo/Demo.abi.json
	demoABI string
	//go:embed demo/Demo.bin
	demoBin string
)

// DemoAddress is where the demo contract stands. It is the deployer's first
// creation, so the address is the same on both chains.
func DemoAddress() common.Address {
	return crypto.CreateAddress(Deployer().Address, 0)
}

// DemoABI returns the contract's interface in JSON.
func DemoABI() []byte { return []byte(demoABI) }

// DemoCode returns the contract's creation code.
func DemoCode() []byte { return common.FromHex(strings.TrimSpace(demoBin)) }
