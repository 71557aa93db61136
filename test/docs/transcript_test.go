package docs

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/test/harness"
)

// transcript is a WebSocket block while it is played.
type transcript struct {
	place   string // for messages
	lines   []string
	varies  bool
	conn    *websocket.Conn
	renamed map[string]string // ids on the page, and what they are this time
}

// playTranscript plays a WebSocket block.
func (s *service) playTranscript(t *testing.T, p *page, b *block) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(b.text), "\n")
	if !strings.HasPrefix(lines[0], "ws://") || !strings.Contains(lines[0], defaultPort) {
		t.Errorf("%s: a transcript begins with the address it connects to", p.line(b))
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, strings.ReplaceAll(lines[0], "$KEY", harness.KeyA), &websocket.DialOptions{HTTPClient: s.client})
	if err != nil {
		t.Errorf("%s: %v", p.line(b), err)
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	x := &transcript{place: p.line(b), lines: lines[1:], varies: b.varies, conn: conn, renamed: map[string]string{}}
	x.play(ctx, t)
}

// play sends each --> line once everything that was due before it has arrived.
func (x *transcript) play(ctx context.Context, t *testing.T) {
	t.Helper()
	var due []string
	for _, line := range x.lines {
		kind, message, _ := strings.Cut(line, " ")
		switch kind {
		case "<--":
			due = append(due, message)
		case "-->":
			if !x.receive(ctx, t, due) {
				return
			}
			due = nil
			if err := x.conn.Write(ctx, websocket.MessageText, []byte(x.rename(message))); err != nil {
				t.Errorf("%s: %v", x.place, err)
				return
			}
		default:
			t.Errorf("%s: can't read %q", x.place, line)
		}
	}
	x.receive(ctx, t, due)
}

// receive reads as many messages as are due. They may arrive in another order:
// events and answers do not wait for each other.
func (x *transcript) receive(ctx context.Context, t *testing.T, due []string) bool {
	t.Helper()
	for len(due) > 0 {
		_, data, err := x.conn.Read(ctx)
		if err != nil {
			t.Errorf("%s: still due: %q: %v", x.place, due, err)
			return false
		}
		found, why := x.find(due, string(data))
		if found < 0 {
			t.Errorf("%s: %s\n<-- %s\ndue: %q", x.place, why, data, due)
			return false
		}
		x.learn(due[found], string(data))
		due = append(due[:found:found], due[found+1:]...)
	}
	return true
}

// find looks a message up among those that are due.
func (x *transcript) find(due []string, got string) (at int, why string) {
	for i, want := range due {
		if why = differ(x.rename(want), got, x.varies); why == "" {
			return i, ""
		}
	}
	return -1, why
}

// learn notes that a result, such as a subscription's id, is another one than on
// the page, so that later lines can use it.
func (x *transcript) learn(want, got string) {
	was, is := resultText(want), resultText(got)
	if x.varies && was != "" && is != "" {
		x.renamed[was] = is
	}
}

func (x *transcript) rename(line string) string {
	for was, is := range x.renamed {
		line = strings.ReplaceAll(line, was, is)
	}
	return line
}

// resultText is the result of a message where it is a string.
func resultText(message string) string {
	v, err := decode(message)
	if err != nil {
		return ""
	}
	object, _ := v.(map[string]any)
	text, _ := object["result"].(string)
	return text
}
