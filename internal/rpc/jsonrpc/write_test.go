package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"result", AppendResult(nil, []byte(`1`), []byte(`"0x1"`)), `{"jsonrpc":"2.0","id":1,"result":"0x1"}`},
		{"onto", AppendResult([]byte(`[`), []byte(`"a"`), []byte(`[]`)), `[{"jsonrpc":"2.0","id":"a","result":[]}`},
		{"nothing given", AppendResult(nil, nil, nil), `{"jsonrpc":"2.0","id":null,"result":null}`},
		{"20 digits", AppendResult(nil, []byte(`12345678901234567890`), []byte(`null`)),
			`{"jsonrpc":"2.0","id":12345678901234567890,"result":null}`},
		{"error", AppendError(nil, []byte(`1`), -32601, "no <b>", nil),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \u003cb\u003e"}}`},
		{"error, no id", AppendError(nil, nil, -32700, "parse error", nil),
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
		{"error with data", AppendError(nil, []byte(`1`), 3, "execution reverted", []byte(`"0x"`)),
			`{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0x"}}`},
		{"event", AppendNotification(nil, "eth_subscription", "0xcd", []byte(`{"a":1}`)),
			`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xcd","result":{"a":1}}}`},
	} {
		if string(tt.got) != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, tt.got, tt.want)
		}
		if tt.name != "onto" && !json.Valid(tt.got) {
			t.Errorf("%s: not JSON: %s", tt.name, tt.got)
		}
	}
}

// texts are strings of every kind that AppendString treats in its own way.
func texts() []string {
	s := []string{"", "plain", `"\/`, "<script>&amp;</script>", "é€𝄞", "\u2028\u2029", "\ufffd", "\ufeff",
		"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x80", "ok\x80\x80ok", "\x7f\u0080\u00a0"}
	for c := range 0x20 {
		s = append(s, "a"+string(rune(c))+"b")
	}
	return s
}

func TestAppendString(t *testing.T) {
	for _, s := range texts() {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString(nil, s); string(got) != string(want) {
			t.Errorf("AppendString(%q): got %s, want %s", s, got, want)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	buf, id := make([]byte, 0, 512), []byte("1")
	n := testing.AllocsPerRun(100, func() {
		AppendResult(buf, id, id)
		AppendError(buf, id, -32000, "header not found \xff <", id)
		AppendNotification(buf, "eth_subscription", "0xcd", id)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAppendLargeResult: in pieces it is the same answer.
func TestAppendLargeResult(t *testing.T) {
	for _, size := range []int{1, 64 << 10, 64<<10 + 1, 300_000} {
		result := bytes.Repeat([]byte("7"), size)
		pauses := 0
		got := AppendLargeResult([]byte("["), []byte("5"), result, func() { pauses++ })
		if want := AppendResult([]byte("["), []byte("5"), result); !bytes.Equal(got, want) || pauses != (size+64<<10-1)/(64<<10) {
			t.Errorf("%d bytes differ, %d pauses", size, pauses)
		}
	}
}
