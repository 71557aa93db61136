package verify

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// FuzzHabit: objects that are read with a habit are read as without one, whatever was read
// before them.
func FuzzHabit(f *testing.F) {
	f.Add([]byte(`[{"address":"0x1","removed":false,"logIndex":"0x1"},{"address":"0x1","removed":false,"logIndex":"0x2"}]`))
	f.Add([]byte(`[{"logIndex":1,"data":"0x"},{"logIndex":12,"data":"0x"},{"logIndex":1 ,"data":null},{"data":"0x","data":"0x"}]`))
	f.Add([]byte(`[{"Address":"0x1"},{"Address":"0x1"},{"x":[1],"a\u0064dress":"0x1"},{"x":[1],"a\u0064dress":"0x1"}, {"x":{},"address":"0x1"}]`))
	f.Add([]byte(`[{"topics":["0x1"],"x":"\\"},{"topics":["0x2"],"x":"\\"},{"topics":[],"x":"\\\""}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, ok := jsonrpc.Elements(nil, raw)
		if !ok || !json.Valid(raw) {
			return
		}
		seed := maphash.MakeSeed()
		h := habit{round: 1}
		in := scanner{d: raw}
		in.take('[')
		for i, e := range list {
			var fast, plain [logFields][]byte
			if !in.more(i == 0, ']') || e[0] != '{' {
				return
			}
			quick := logNames.scan(&in, fast[:], seed, &h, nil)
			slow, ok := logNames.read(e, plain[:], seed)
			if in.bad == ok {
				t.Fatalf("%s: read %v with a habit, %v without", e, !in.bad, ok)
			}
			if !ok || quick.broken && slow.broken {
				return
			}
			compareObjects(t, e, &quick, &slow)
		}
	})
}

func compareObjects(t *testing.T, raw []byte, a, b *object) {
	if a.broken != b.broken || a.strange != b.strange || a.other != b.other || a.present != b.present {
		t.Errorf("%s: %+v with a habit, %+v without", raw, a, b)
	}
	for i := range a.fields {
		if (a.fields[i] == nil) != (b.fields[i] == nil) || !bytes.Equal(a.fields[i], b.fields[i]) {
			t.Errorf("%s: field %d is %s with a habit, %s without", raw, i, a.fields[i], b.fields[i])
		}
	}
}

// FuzzHex holds our decoder of hex to the standard library's.
func FuzzHex(f *testing.F) {
	for _, s := range []string{"", "0", "00000000", "0123456789abcdefABCDEF00", "0123456g", "012345678", "@0000000", "`0000000", ":0000000", "0000000\xb0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, digits []byte) {
		even := digits
		if len(digits)%2 == 1 {
			even = append([]byte("0"), digits...)
		}
		want, err := hex.DecodeString(string(even))
		got, ok := appendHex([]byte{7}, digits)
		if ok != (err == nil) || ok && !bytes.Equal(got[1:], want) {
			t.Errorf("%q is %x, %v; want %x, %v", digits, got, ok, want, err)
		}
	})
}
