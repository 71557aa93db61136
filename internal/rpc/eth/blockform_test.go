package eth

import (
	"strings"
	"testing"
)

// TestEvents are what subscribers get of other clients' headers and logs. Whatever
// can't be read comes as it is.
func TestEvents(t *testing.T) {
	hash := `"0x` + strings.Repeat("1a", 32) + `"`
	for name, c := range map[string]struct {
		event     func([]byte) []byte
		raw, want string
	}{
		"a header": {HeadEvent,
			`{"number":2,"hash":` + strings.ToUpper(hash[:3]) + hash[3:] + `}`, // no parent: not one that is known
			`{"number":2,"hash":` + strings.ToUpper(hash[:3]) + hash[3:] + `}`},
		"Parity's header": {HeadEvent,
			`{"number":"0x02","hash":` + hash + `,"parentHash":` + hash + `,"author":"0x00000000000000000000000000000000000000A1","sealFields":[],"miner":"0x00000000000000000000000000000000000000A1","nonce":"0x0","logsBloom":null,"baseFeePerGas":null}`,
			`{"number":"0x2","hash":` + hash + `,"parentHash":` + hash + `,"miner":"0x00000000000000000000000000000000000000a1","nonce":"0x0000000000000000","logsBloom":null}`},
		"Parity's log": {LogEvent,
			`{"address":"0x00000000000000000000000000000000000000A1","topics":null,"data":"0x","blockHash":` + hash + `,"blockNumber":2,"transactionHash":` + hash + `,"transactionIndex":"0x0","logIndex":"0x0","type":"mined"}`,
			`{"address":"0x00000000000000000000000000000000000000a1","topics":[],"data":"0x","blockHash":` + hash + `,"blockNumber":"0x2","transactionHash":` + hash + `,"transactionIndex":"0x0","logIndex":"0x0","removed":false}`},
		"no log": {LogEvent, `{"address":7}`, `{"address":7}`},
	} {
		if got := string(c.event([]byte(c.raw))); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// TestBlockEntries: a block's transactions are hashes, or whole ones in the form that
// they have by themselves.
func TestBlockEntries(t *testing.T) {
	hash := `"0x` + strings.Repeat("1a", 32) + `"`
	tx := `{"hash":` + hash + `,"from":"0x00000000000000000000000000000000000000A1","creates":null}`
	alone, ok := fixTransaction([]byte(tx))
	if !ok {
		t.Fatal("a transaction")
	}
	for list, want := range map[string]string{`[` + hash + `]`: `[` + hash + `]`, `[` + tx + `]`: `[` + string(alone) + `]`, `null`: `[]`} {
		got, ok := fixBlock([]byte(`{"parentHash":` + hash + `,"transactions":` + list + `}`))
		if !ok || !strings.Contains(string(got), `"transactions":`+want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
