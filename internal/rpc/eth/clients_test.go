package eth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// A recorded case is four lines:
//
//	// a comment: what differs, and in which version of the client it was seen
//	--> what a client asks
//	==> what the node is asked; left out where it is the same
//	<== what the node answers, as that client does
//	<-- what the client sees
//
// "# dialect NAME" sets the dialect of the cases that follow; it is standard before.
type recorded struct {
	line                    int
	dialect                 Dialect
	ask, asked, reply, want string
}

func readRecorded(t testing.TB, file string) (list []recorded) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dialect := Standard
	for i, line := range strings.Split(string(text), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		if mark == "-->" {
			list = append(list, recorded{line: i + 1, dialect: dialect, ask: rest})
			continue
		}
		c := &recorded{}
		if len(list) > 0 {
			c = &list[len(list)-1]
		}
		switch name, isDialect := strings.CutPrefix(rest, "dialect "); {
		case line == "" || mark == "//":
		case mark == "==>" && c.ask != "":
			c.asked = rest
		case mark == "<==" && c.ask != "" && c.reply == "":
			c.reply = rest
		case mark == "<--" && c.reply != "" && c.want == "":
			c.want = rest
		case mark == "#" && isDialect:
			dialect, _ = ParseDialect(name)
		default:
			t.Fatalf("%s:%d: can't read %q", file, i+1, line)
		}
	}
	return list
}

// envelope is the part of a message that matters here.
type envelope struct {
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *fault          `json:"error,omitempty"`
}

type fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// player is the network of one recorded case: its answer is the client's.
type player struct {
	reply string
	asked string
}

func (p *player) Call(_ context.Context, method string, params []byte) ([]byte, error) {
	p.asked = fmt.Sprintf(`{"method":"%s","params":%s}`, method, params)
	var e envelope
	if err := json.Unmarshal([]byte(p.reply), &e); err != nil {
		panic(err)
	}
	if e.Error != nil {
		return nil, &nodegate.Error{Op: "test", Code: nodegate.NodeFault, Number: e.Error.Code, Msg: e.Error.Message, Data: e.Error.Data}
	}
	if e.Result == nil {
		return []byte("null"), nil // the decoder's reading of a null
	}
	return e.Result, nil
}

func (p *player) Head(context.Context) (nodegate.Head, error) {
	return nodegate.Head{Number: 200, GasLimit: 30_000_000}, nil
}

// numberOf is what the edge makes of a code.
var numberOf = map[nodegate.Code]int{
	nodegate.Reverted: 3, nodegate.ExecutionFailed: -32000, nodegate.InvalidParams: -32602, nodegate.MethodNotFound: -32601,
	nodegate.Timeout: -32002, nodegate.Busy: -32603, nodegate.NoNode: -32603, nodegate.Internal: -32603, nodegate.OutsideHistory: -32002,
}

// seen is the envelope that a client gets.
func seen(result []byte, err error) string {
	if err == nil {
		return `{"result":` + string(result) + `}`
	}
	e := nodegate.AsError(err)
	f := fault{Code: numberOf[e.Code], Message: e.Msg, Data: e.Data}
	if e.Code == nodegate.NodeFault {
		f.Code = e.Number
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(envelope{Error: &f}); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}

// TestClients plays every recorded case: whatever client is behind, our clients see
// the same.
func TestClients(t *testing.T) {
	files, err := filepath.Glob("testdata/clients/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("recorded clients: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, c := range readRecorded(t, file) {
				c.play(t)
			}
		})
	}
}

func (c recorded) play(t *testing.T) {
	t.Helper()
	var ask envelope
	if err := json.Unmarshal([]byte(c.ask), &ask); err != nil {
		t.Fatalf("line %d: %v", c.line, err)
	}
	p := &player{reply: c.reply}
	cfg := limits(c.dialect)
	cfg.Remote, cfg.Layer2 = true, true
	got := seen(New(p, cfg).Call(t.Context(), ask.Method, ask.Params))
	if got != c.want {
		t.Errorf("line %d: %s\n<== %s\n<-- %s, want\n<-- %s", c.line, c.ask, c.reply, got, c.want)
	}
	if c.asked != "" && p.asked != c.asked {
		t.Errorf("line %d: the node was asked\n%s, want\n%s", c.line, p.asked, c.asked)
	}
}
