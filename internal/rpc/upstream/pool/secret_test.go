package pool

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// TestHeadersStaySecret: a node that repeats our headers in its errors doesn't bring them into
// the log or its status.
func TestHeadersStaySecret(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 100)
		a.answer = func(context.Context, string, []byte) ([]byte, error) {
			return nil, &client.Fault{Sent: true, Err: errors.New("who is Bearer swordfish-1? the key swordfish-2 is bad, and swordfish-1 too")}
		}
		p, logs := openFakes(t, func(cfg *Config) {
			cfg.Nodes[0].Headers = map[string]string{"Authorization": "Bearer swordfish-1", "X-Key": "swordfish-2", "X-Short": "is"}
		}, a)
		settle()
		why := p.Status()[0].Why
		if why != "who is [redacted]? the key [redacted] is bad, and [redacted] too" {
			t.Errorf("why: %q", why)
		}
		if strings.Contains(logs.String(), "swordfish") || !strings.Contains(logs.String(), "node unreachable") {
			t.Errorf("the log: %s", logs)
		}
	})
}
