package abi

import (
	"encoding/hex"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

const tokenABI = `[
	{"type":"constructor","inputs":[{"type":"string","name":"name"}]},
	{"type":"function","name":"balanceOf","inputs":[{"type":"address","name":"owner"}],"outputs":[{"type":"uint256","name":"balance"}]},
	{"type":"function","name":"info","inputs":[],"outputs":[{"type":"string","name":"name"},{"type":"tuple","name":"pair","components":[{"type":"address","name":"who"},{"type":"int64[]","name":"what"}]},{"type":"bytes4","name":"tag"},{"type":"bool[2]","name":"flags"},{"type":"bytes","name":"rest"}]},
	{"type":"event","name":"Transfer","inputs":[{"type":"address","name":"from","indexed":true},{"type":"address","name":"to","indexed":true},{"type":"uint256","name":"value"}]},
	{"type":"error","name":"TooFew","inputs":[{"type":"uint256","name":"needed"}]}
]`

const tokenLines = `
function balanceOf(address owner) external view returns (uint256 balance);
function info() view returns (string name, tuple(address who, int64[] what) pair, bytes4 tag, bool[2] flags, bytes memory rest)
event Transfer(address indexed from, address indexed to, uint256 value)
error TooFew(uint needed)
`

var who = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")

// encoded is what go-ethereum writes for the outputs of a function.
func encoded(t *testing.T, name string, values ...any) []byte {
	t.Helper()
	known, err := abi.JSON(strings.NewReader(tokenABI))
	if err != nil {
		t.Fatal(err)
	}
	data, err := known.Methods[name].Outputs.Pack(values...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func selector(signature string) []byte { return crypto.Keccak256([]byte(signature))[:4] }

func shown(d *Decoded) string {
	var b strings.Builder
	b.WriteString(d.What)
	for _, v := range d.Values {
		b.WriteString(" " + v.Name + " " + v.Type + "=" + strings.Join(strings.Fields(v.Text), ""))
	}
	return b.String()
}

// TestDecode: what go-ethereum encodes is read again, by both forms of an ABI.
func TestDecode(t *testing.T) {
	type pair struct {
		Who  common.Address
		What []int64
	}
	info := encoded(t, "info", "Tök en", pair{who, []int64{-5, 7}}, [4]byte{1, 2, 3, 4}, [2]bool{true, false}, []byte{9})
	balance := encoded(t, "balanceOf", new(big.Int).Lsh(big.NewInt(1), 200))
	word := func(b []byte) []byte { return common.LeftPadBytes(b, 32) }
	topics := [][]byte{crypto.Keccak256([]byte("Transfer(address,address,uint256)")), word(who.Bytes()), word([]byte{1})}
	for name, text := range map[string]string{"JSON": tokenABI, "an artifact": `{"contractName":"T","abi":` + tokenABI + `}`, "signatures": tokenLines} {
		a, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range []struct {
			decode func() (*Decoded, error)
			want   string
		}{
			{func() (*Decoded, error) { return a.Result(selector("balanceOf(address)"), balance) }, "balanceOf(address) balance uint256=1606938044258990275541962092341162602522202993782792835301376"},
			{func() (*Decoded, error) { return a.Result(selector("info()"), info) },
				`info() name string=Töken pair (address,int64[])={"what":["-5","7"],"who":"` + who.Hex() + `"} tag bytes4=0x01020304 flags bool[2]=["true","false"] rest bytes=0x09`},
			{func() (*Decoded, error) { return a.Log(topics, word([]byte{5})) },
				"Transfer(address,address,uint256) from address=" + who.Hex() + " to address=0x0000000000000000000000000000000000000001 value uint256=5"},
			{func() (*Decoded, error) { return a.Revert(append(selector("TooFew(uint256)"), word([]byte{77})...)) }, "TooFew(uint256) needed uint256=77"},
			{func() (*Decoded, error) { return a.Revert(append(selector("Panic(uint256)"), word([]byte{17})...)) }, "Panic(uint256) code uint256=17"},
		} {
			if got, err := c.decode(); err != nil || shown(got) != c.want {
				t.Errorf("%s: %v\n%+v\nwant %s", name, err, got, c.want)
			}
		}
	}
}

// TestOnlyFunction: without the data of the call it must be clear which function it was.
func TestOnlyFunction(t *testing.T) {
	one, err := Parse("balanceOf(address) returns (uint256)")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := one.Result(nil, common.LeftPadBytes([]byte{9}, 32)); err != nil || got.Values[0].Text != "9" {
		t.Errorf("%v, %v", got, err)
	}
	two, err := Parse(tokenLines)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := two.Result(nil, make([]byte, 320)); err == nil {
		t.Errorf("one of two: %v", got)
	}
}

// TestHostile: nothing that is pasted or returned makes the decoder fail or take long.
func TestHostile(t *testing.T) {
	for _, text := range []string{
		"", "[", "{}", "[]", "5", "null", "x", "function", "function (", "f(", "f()", "f(uint7) returns (uint256)", "f(uint0)", "f() returns (", "f() returns (bytes33)", "f() returns (uint256[99999999])",
		"f() returns (" + strings.Repeat("(", 5000) + ")", "f() returns (uint256" + strings.Repeat("[]", 5000) + ")", strings.Repeat("x", MaxText+1), "a b c() returns (uint256)",
		`[{"type":"function","name":"f","outputs":[{"type":"tuple"}]}`, `[{"type":"function","outputs":[{"type":"uint256[-1]"}]}]`,
	} {
		a, err := Parse(text)
		if err != nil {
			continue
		}
		if got, err := a.Result(nil, make([]byte, 64)); err == nil && len(got.Values) > 2 {
			t.Errorf("%.40q decodes to %v", text, got)
		}
	}
	bomb, err := Parse("f() returns (uint256[][][][][][][][])")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 32*64)
	for i := 0; i < len(data); i += 32 { // every word is an offset to, or a count of, many others
		data[i+31] = 32
	}
	if _, err := bomb.Result(nil, data); err == nil {
		t.Error("a bomb is decoded")
	}
	empty, err := Parse("f() returns (()[])")
	if err != nil {
		t.Fatal(err)
	}
	huge, _ := hex.DecodeString(strings.Repeat("0", 62) + "20" + strings.Repeat("0", 60) + "0040" + strings.Repeat("0", 64))
	if got, err := empty.Result(nil, huge); err == nil && len(got.Values) > 1 {
		t.Errorf("%v", got)
	}
}

// blobs is the encoding of a list whose n offsets all point to one value of size bytes.
func blobs(n, size int) []byte {
	word := func(v int) []byte { return common.LeftPadBytes(big.NewInt(int64(v)).Bytes(), 32) }
	data := append(word(32), word(n)...)
	for range n {
		data = append(data, word(32*n)...)
	}
	return append(append(data, word(size)...), make([]byte, size)...)
}

// TestBudget: a few bytes that are pointed to often don't become much text, neither in one
// result nor in many.
func TestBudget(t *testing.T) {
	for _, c := range []struct{ signature, name string }{
		{"f() returns (bytes[])", "bytes"}, {"f() returns (string[])", "text"},
		{"f() returns (tuple(uint8 " + strings.Repeat("x", 30_000) + ")[])", "names"},
	} {
		a, err := Parse(c.signature)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Result(nil, blobs(1_000, 100_000)); !errors.Is(err, ErrLarge) {
			t.Errorf("%s: %v, %v", c.name, got != nil, err)
		}
	}
	a, err := Parse("f() returns (string[])")
	if err != nil {
		t.Fatal(err)
	}
	one := blobs(1, 100_000)
	for i := range 3 {
		got, err := a.Result(nil, one)
		if whole := i < 2; whole != (err == nil) || whole != (got != nil) {
			t.Errorf("result %d: %v", i, err)
		}
	}
}

// TestTypeSize: types that no value can have are refused, and none is measured for each value.
func TestTypeSize(t *testing.T) {
	for _, text := range []string{
		"f() returns (uint256[10000][2])", "f() returns (uint256" + strings.Repeat("[10000]", 15) + ")", "f() returns ((uint8[6000],uint8[6000]))",
	} {
		if _, err := Parse(text); !errors.Is(err, errType) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Parse("f() returns (uint256[100][100],(string,uint8[9])[5])"); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(tokenLines, []byte("1234"), make([]byte, 96))
	f.Add(tokenABI, []byte{}, make([]byte, 320))
	f.Fuzz(func(_ *testing.T, text string, data, result []byte) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		_, _ = a.Result(data, result)
		_, _ = a.Revert(result)
		if len(result) >= 32 {
			_, _ = a.Log([][]byte{result[:32]}, data)
		}
		for hash := range a.events {
			_, _ = a.Log([][]byte{[]byte(hash), make([]byte, 32)}, result)
		}
	})
}
