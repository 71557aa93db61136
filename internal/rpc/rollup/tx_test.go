package rollup

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

const (
	sender    = "0x188e0b45cedd8f5e425e73c8aa7953b92115ec24"
	recipient = "0x791a479620f2a5cf58bb53d45cd3ec72cfef22fe"
	transfer  = `{"from":"` + sender + `","to":"` + recipient + `","value":"0x28f"}`

	// The token transfer of the network's documentation.
	tokenTransfer = `{"from":"0xfe3b557e8fb62b89f4916b721be55ceb828dbd73",
		"to":"0xe5D7C2a44FfDDf6b295A15c148167daaAf5Cf34f",
		"input":"0xa9059cbb000000000000000000000000627306090abaB3A6e1400e9345bC60c78a8BEf570000000000000000000000000000000000000000000000001bc16d674ec80000"}`
)

func parseCall(t testing.TB, text string) *call {
	t.Helper()
	var c call
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// encodeCall drafts a call at a base fee of 7 wei, with nonce 0.
func encodeCall(t testing.TB, text string, gas uint64, chainID *big.Int) []byte {
	t.Helper()
	d := draft{call: parseCall(t, text), gas: gas, baseFee: big.NewInt(7), chainID: chainID}
	encoded, err := d.encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestEncode(t *testing.T) {
	const (
		from20 = "188e0b45cedd8f5e425e73c8aa7953b92115ec24"
		to21   = "94791a479620f2a5cf58bb53d45cd3ec72cfef22fe"
		zero21 = "940000000000000000000000000000000000000000"
		access = `"accessList":[{"address":"` + recipient + `","storageKeys":["0x0000000000000000000000000000000000000000000000000000000000000001"]}]`
		list   = "f838f7" + to21 + "e1a00000000000000000000000000000000000000000000000000000000000000001"
		auth   = `"authorizationList":[{"chainId":"0x1","address":"` + recipient + `","nonce":"0x2","yParity":"0x1","r":"0x3","s":"0x4"}]`
	)
	tests := []struct {
		name, call string
		chainID    *big.Int
		want       string
	}{
		{"legacy", transfer, nil, from20 + "de 80 07 825208" + to21 + "82028f 80"},
		{"legacy, protected", transfer, big.NewInt(1338), from20 + "e3 80 07 825208" + to21 + "82028f 80 82053a 80 80"},
		{"no sender", `{"to":"` + recipient + `"}`, nil, "0000000000000000000000000000000000000000 dc 80 07 825208" + to21 + "80 80"},
		{"gas price of zero", `{"gasPrice":"0x0","to":"` + recipient + `"}`, nil, "0000000000000000000000000000000000000000 dc 80 80 825208" + to21 + "80 80"},
		{"creation", `{"from":"` + sender + `","input":"0x6001"}`, nil, from20 + "de 80 07 825208" + zero21 + "80 826001"},
		{"data under its old name", `{"from":"` + sender + `","data":"0x6001"}`, nil, from20 + "de 80 07 825208" + zero21 + "80 826001"},
		{"access list", `{"to":"` + recipient + `",` + access + `}`, big.NewInt(1),
			"0000000000000000000000000000000000000000 01 f857 01 80 07 825208" + to21 + "80 80" + list},
		{"dynamic fee", `{"maxFeePerGas":"0x9","maxPriorityFeePerGas":"0x2","to":"` + recipient + `"}`, big.NewInt(1),
			"0000000000000000000000000000000000000000 02 df 01 80 02 09 825208" + to21 + "80 80 c0"},
		{"dynamic fee by its tip", `{"maxPriorityFeePerGas":"0x2","to":"` + recipient + `"}`, big.NewInt(1),
			"0000000000000000000000000000000000000000 02 df 01 80 02 80 825208" + to21 + "80 80 c0"},
		{"set code", `{"to":"` + recipient + `",` + auth + `}`, big.NewInt(1),
			"0000000000000000000000000000000000000000 04 f83b 01 80 07 07 825208" + to21 + "80 80 c0 db da 01" + to21 + "02 01 03 04"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := encodeCall(t, tt.call, 21_000, tt.chainID), unhex(t, tt.want); string(got) != string(want) {
				t.Errorf("encoded\n%x, want\n%x", got, want)
			}
		})
	}
}

func TestSize(t *testing.T) {
	incompressible, _ := json.Marshal(map[string]string{"from": sender, "to": recipient, "input": hexOf(noise(10_000, 1))})
	tests := []struct {
		name, call string
		gas        uint64
		raw, size  int
	}{
		{"transfer", transfer, 21_000, 51, 64},
		{"token transfer without a dictionary", tokenTransfer, 60_000, 119, 128},
		{"noise", string(incompressible), 181_000, 10_054, 10_144},
	}
	s := newSizer(nil, 1)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			encoded := encodeCall(t, tt.call, tt.gas, nil)
			if len(encoded) != tt.raw {
				t.Errorf("%d bytes, want %d", len(encoded), tt.raw)
			}
			if size, err := s.size(t.Context(), encoded); err != nil || size != tt.size {
				t.Errorf("size = %d, %v; want %d", size, err, tt.size)
			}
		})
	}
}

// A dictionary that knows the token's call makes it smaller.
func TestSizeWithDictionary(t *testing.T) {
	encoded := encodeCall(t, tokenTransfer, 60_000, nil)
	s := newSizer(encoded[40:], 1)
	if size, err := s.size(t.Context(), encoded); err != nil || size != 64 {
		t.Errorf("size = %d, %v; want 64", size, err)
	}
}

func TestSizeLimits(t *testing.T) {
	full.Slow(t)
	s := newSizer(nil, 1)
	if size, err := s.size(t.Context(), noise(maxEncoded, 8)); err != nil || size == 0 {
		t.Errorf("the longest: %d, %v", size, err)
	}
	if _, err := s.size(t.Context(), make([]byte, maxEncoded+1)); !errors.Is(err, errTooLong) {
		t.Errorf("one byte more: %v", err)
	}
}

// Long transactions of an account wait for each other. Short ones, and those of other
// accounts, don't.
func TestLongSizesTakeTurns(t *testing.T) {
	s := newSizer(nil, 2)
	long := noise(shortEncoded+1, 9)
	greedy := nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: "greedy"})
	if err := s.slots.Acquire(greedy, "greedy"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(greedy, time.Millisecond)
	defer cancel()
	if _, err := s.size(ctx, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second long one: %v", err)
	}
	if _, err := s.size(greedy, []byte{1}); err != nil {
		t.Errorf("a short one: %v", err)
	}
	if _, err := s.size(t.Context(), long); err != nil {
		t.Errorf("of another account: %v", err)
	}
	s.slots.Release("greedy")
	if _, err := s.size(greedy, long); err != nil || !s.slots.Idle() {
		t.Errorf("afterwards: %v, idle %v", err, s.slots.Idle())
	}
}

func TestPackedSize(t *testing.T) {
	tests := []struct{ compressed, raw, want int }{
		{58, 51, 64}, {75, 119, 96}, {31, 31, 32}, {32, 32, 64}, {3, 20, 32}, {20, 20, 32},
	}
	for _, tt := range tests {
		if got := packedSize(tt.compressed, tt.raw); got != tt.want {
			t.Errorf("packedSize(%d, %d) = %d, want %d", tt.compressed, tt.raw, got, tt.want)
		}
	}
}
