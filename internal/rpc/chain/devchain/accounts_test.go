package devchain

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// hardened marks a step of a derivation path that uses the private key.
const hardened = 1 << 31

func TestKeysComeFromMnemonic(t *testing.T) {
	accounts := append(Accounts(), Deployer(), Delegator())
	for i, account := range accounts {
		want := derive(t, Mnemonic, 44|hardened, 60|hardened, hardened, 0, uint32(i))
		if !account.PrivateKey.Equal(want) {
			t.Errorf("account %d has not the mnemonic's key", i)
		}
	}
}

func TestWellKnownAddresses(t *testing.T) {
	accounts := Accounts()
	if len(accounts) != 10 {
		t.Fatalf("%d accounts, want 10", len(accounts))
	}
	for i, want := range map[int]string{
		0: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		1: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
		9: "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
	} {
		if got := accounts[i].Address.Hex(); got != want {
			t.Errorf("account %d is %s, want %s", i, got, want)
		}
	}
}

// derive walks a BIP-32 path from the BIP-39 seed of a mnemonic.
func derive(t *testing.T, mnemonic string, path ...uint32) *ecdsa.PrivateKey {
	t.Helper()
	seed, err := pbkdf2.Key(sha512.New, mnemonic, []byte("mnemonic"), 2048, 64)
	if err != nil {
		t.Fatal(err)
	}
	key, chain := split(seal([]byte("Bitcoin seed"), seed))
	for _, index := range path {
		offset, next := split(seal(chain, childData(t, key, index)))
		key.Mod(key.Add(key, offset), crypto.S256().Params().N)
		chain = next
	}
	return toKey(t, key)
}

func childData(t *testing.T, key *big.Int, index uint32) []byte {
	t.Helper()
	private := toKey(t, key)
	data := append([]byte{0}, crypto.FromECDSA(private)...)
	if index < hardened {
		data = crypto.CompressPubkey(&private.PublicKey)
	}
	return binary.BigEndian.AppendUint32(data, index)
}

func seal(key, data []byte) []byte {
	mac := hmac.New(sha512.New, key)
	mac.Write(data)
	return mac.Sum(nil)
}

func split(sum []byte) (*big.Int, []byte) {
	return new(big.Int).SetBytes(sum[:32]), sum[32:]
}

func toKey(t *testing.T, n *big.Int) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.ToECDSA(common.LeftPadBytes(n.Bytes(), 32))
	if err != nil {
		t.Fatal(err)
	}
	return key
}
