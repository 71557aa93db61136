package devchain

import (
	"crypto/ecdsa"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Mnemonic is the phrase behind every key here, at m/44'/60'/0'/0/i. Hardhat, Anvil
// and others use it too. The whole world knows these keys: whatever reaches their
// addresses on a public network is gone.
const Mnemonic = "test test test test test test test test test test test junk"

// Account is an address and its publicly known key.
type Account struct {
	Address    common.Address
	PrivateKey *ecdsa.PrivateKey
}

// Accounts returns the mnemonic's first ten accounts. On both chains each has exactly
// 10,000 ether and nonce 0.
func Accounts() []Account {
	keys := [...]string{
		"ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
		"59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
		"5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
		"7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
		"47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
		"8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
		"92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
		"4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
		"dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
		"2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
	}
	accounts := make([]Account, len(keys))
	for i, key := range keys {
		accounts[i] = account(key)
	}
	return accounts
}

// Deployer is the mnemonic's eleventh account. It signs the transactions of the chain
// files, so that the ten accounts stay untouched.
func Deployer() Account {
	return account("f214f2b2cd398c806f84e317254e0f0b801d0643303237d97a22a48e01628897")
}

// Delegator is the mnemonic's twelfth account. It has no ether; by EIP-7702 it
// delegates to the demo contract's code.
func Delegator() Account {
	return account("701b615bbdfb9de65240bc28bd21bbc0d996645a3dd57e7b12bc2bdf6f192c82")
}

// account panics on a bad key: the keys are constants of this file, and a test
// derives them.
func account(hexKey string) Account {
	key, err := crypto.HexToECDSA(hexKey)
	if err != nil {
		panic("devchain: bad key: " + err.Error())
	}
	return Account{Address: crypto.PubkeyToAddress(key.PublicKey), PrivateKey: key}
}
