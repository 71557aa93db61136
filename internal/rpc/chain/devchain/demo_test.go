package devchain

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/ethereum/go-ethereum/crypto"
)

func TestDemoAnswers(t *testing.T) {
	call := demoCaller(t, Devnet())
	word := func(n int64) []byte { return common.BigToHash(big.NewInt(n)).Bytes() }
	for _, c := range []struct {
		method string
		args   []any
		want   []byte
	}{
		{"value", nil, word(42)},
		{"balanceOf", []any{Accounts()[0].Address}, word(1_000)},
		{"balances", []any{Accounts()[0].Address}, word(1_000)},
		{"loop", []any{big.NewInt(0)}, word(0)},
		{"loop", []any{big.NewInt(4)}, word(31*31 + 31*2 + 3)},
	} {
		got, err := call(c.method, c.args...)
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s(%v) = %x, %v; want %x", c.method, c.args, got, err, c.want)
		}
	}
}

func TestDemoFails(t *testing.T) {
	call := demoCaller(t, Devnet())
	for _, c := range []struct {
		method, signature, args string
	}{
		{"failWithReason", "Error(string)", "" +
			"0000000000000000000000000000000000000000000000000000000000000020" +
			"0000000000000000000000000000000000000000000000000000000000000012" +
			"64656d6f3a20616c77617973206661696c730000000000000000000000000000"},
		{"failWithCustomError", "InsufficientDemo(uint256,uint256)", "" +
			"0000000000000000000000000000000000000000000000000000000000000001" +
			"0000000000000000000000000000000000000000000000000000000000000002"},
		{"failWithPanic", "Panic(uint256)", "" +
			"0000000000000000000000000000000000000000000000000000000000000001"},
	} {
		got, err := call(c.method)
		want := hex.EncodeToString(crypto.Keccak256([]byte(c.signature))[:4]) + c.args
		if !errors.Is(err, vm.ErrExecutionReverted) || hex.EncodeToString(got) != want {
			t.Errorf("%s: %v with data %x, want %s", c.method, err, got, want)
		}
	}
	if _, err := call("spin"); !errors.Is(err, vm.ErrOutOfGas) {
		t.Errorf("spin: %v, want it to use up its gas", err)
	}
}

// demoCaller returns a function that calls the contract on the state of the head.
func demoCaller(t *testing.T, p Preset) func(string, ...any) ([]byte, error) {
	t.Helper()
	demo, err := abi.JSON(bytes.NewReader(DemoABI()))
	if err != nil {
		t.Fatal(err)
	}
	statedb, config := headState(t, openChain(t, p)), p.Genesis().Config
	return func(method string, args ...any) ([]byte, error) {
		data, err := demo.Pack(method, args...)
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := runtime.Call(DemoAddress(), data, &runtime.Config{
			ChainConfig: config, State: statedb.Copy(), GasLimit: 1_000_000, Random: new(common.Hash),
		})
		return out, err
	}
}
