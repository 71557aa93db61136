package dashboard

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
)

func hashOf(signature string) string { return hex.EncodeToString(crypto.Keccak256([]byte(signature))) }

// decoded is what the page shows of a response.
func decoded(t *testing.T, d *tryData, response string) *tried {
	t.Helper()
	b, err := apidoc.New()
	if err != nil {
		t.Fatal(err)
	}
	d.Row = b.Find("eth_call")
	got := &tried{raw: []byte(response)}
	got.decode(d, b)
	return got
}

// TestDecodeBatch: each result of a batch is decoded by the call that it belongs to.
func TestDecodeBatch(t *testing.T) {
	call := func(id, signature string) string {
		return fmt.Sprintf(`{"id": %s, "method": "eth_call", "params": [{"to": "0x1", "data": "0x%s"}, "latest"]}`, id, hashOf(signature)[:8])
	}
	result := func(id string, value int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"0x%064x"}`, id, value)
	}
	d := &tryData{
		Mode: fromBatch, Params: `[{"data":"0x` + hashOf("a()")[:8] + `"}]`, ABI: "a() returns (uint256 first)\nb() returns (uint256 second)",
		Batch: "[" + strings.Join([]string{call("7", "a()"), call(`"x"`, "b()"), call("8", "a()"), call("8", "b()"), `{"id": 9, "method": "eth_getBalance", "params": ["0x1"]}`}, ",") + "]",
	}
	got := decoded(t, d, "["+strings.Join([]string{result(`"x"`, 5), result("7", 6), result("8", 7), result("9", 8), result("10", 9)}, ",")+"]")
	var shown []string
	for _, one := range got.Decoded {
		shown = append(shown, one.What+" "+one.Values[0].Name+" "+one.Values[0].Text)
	}
	if text := strings.Join(shown, ", "); text != "b() second 5, a() first 6" {
		t.Errorf("decoded: %s (%s)", text, got.ABIProblem)
	}
}

// TestDecodedEntries: a response with many logs, or much text, is decoded in part.
func TestDecodedEntries(t *testing.T) {
	const many = maxDecoded + 1
	line := `{"topics":["0x` + hashOf("E(uint256)") + `"],"data":"0x` + strings.Repeat("0", 64) + `"}`
	logs := `{"result":[` + strings.Repeat(line+",", many-1) + line + `]}`
	if got := decoded(t, &tryData{ABI: "event E(uint256 n)"}, logs); len(got.Decoded) != maxDecoded || !strings.Contains(got.ABIProblem, "Only the first part was decoded") {
		t.Errorf("%d logs, %q", len(got.Decoded), got.ABIProblem)
	}
	const size = 100_000
	long := fmt.Sprintf(`{"result":"0x%064x%064x%s"}`, 32, size, strings.Repeat("61", size))
	batch := []string{}
	for i := range 4 {
		batch = append(batch, strings.Replace(long, "{", fmt.Sprintf(`{"id":%d,`, i+1), 1))
	}
	d := &tryData{Mode: fromBatch, ABI: "f() returns (string)", Batch: "[" + strings.Repeat(`{"method":"eth_call","params":[{"data":"0x`+hashOf("f()")[:8]+`"}]},`, 3) + `{"method":"eth_call","params":[{"data":"0x` + hashOf("f()")[:8] + `"}]}]`}
	if got := decoded(t, d, "["+strings.Join(batch, ",")+"]"); len(got.Decoded) != 2 || got.ABIProblem == "" {
		t.Errorf("%d results, %q", len(got.Decoded), got.ABIProblem)
	}
}
