package filter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// counter is a node that gives out ids in a row, as the worst of nodes do.
type counter struct {
	made  int
	asked []string
}

func (c *counter) Call(_ context.Context, name string, params []byte) ([]byte, error) {
	if method.Of(name).NewFilter {
		c.made++
		return fmt.Appendf(nil, `"0x%x"`, c.made), nil
	}
	c.asked = append(c.asked, name+string(params))
	return []byte("true"), nil
}

func (c *counter) Head(context.Context) (nodegate.Head, error) { return nodegate.Head{}, nil }

func as(account, key string) context.Context {
	g, _ := nodegate.NewGrant(account, key, new(atomic.Pointer[nodegate.Policy]))
	return nodegate.WithGrant(context.Background(), g)
}

func create(t *testing.T, n *Node, ctx context.Context) string {
	t.Helper()
	id, err := n.Call(ctx, "eth_newBlockFilter", []byte("[]"))
	if err != nil {
		t.Fatal(err)
	}
	return string(id)
}

// TestOwners: nobody but the key that made a filter can use it, under either id.
func TestOwners(t *testing.T) {
	below := &counter{}
	n := New(below)
	id := create(t, n, as("alice", "k1"))
	if id == `"0x1"` || len(id) != len(`"0x`)+32+1 {
		t.Fatalf("the id is %s", id)
	}
	for _, who := range []context.Context{as("mallory", "k9"), as("mallory", "k1"), as("alice", "k2"), context.Background()} {
		for _, name := range []string{"eth_getFilterChanges", "eth_getFilterLogs"} {
			for _, guess := range []string{id, `"0x1"`} {
				if _, err := n.Call(who, name, []byte("["+guess+"]")); !errors.Is(err, errNotFound) {
					t.Errorf("%s of %s: %v", name, guess, err)
				}
			}
		}
		if got, err := n.Call(who, "eth_uninstallFilter", []byte("["+id+"]")); string(got) != "false" || err != nil {
			t.Errorf("uninstalled by another: %s, %v", got, err)
		}
	}
	if len(below.asked) != 0 {
		t.Fatalf("the node was asked %q", below.asked)
	}
	for _, name := range []string{"eth_getFilterChanges", "eth_uninstallFilter"} {
		if got, err := n.Call(as("alice", "k1"), name, []byte("["+id+"]")); string(got) != "true" || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if want := `eth_getFilterChanges["0x1"] eth_uninstallFilter["0x1"]`; strings.Join(below.asked, " ") != want {
		t.Errorf("the node was asked %q, want %s", below.asked, want)
	}
	if _, err := n.Call(as("alice", "k1"), "eth_getFilterChanges", []byte("["+id+"]")); !errors.Is(err, errNotFound) {
		t.Errorf("after the end: %v", err)
	}
}

// TestBounds: an account has a share of the filters, and gets it back with time.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(&counter{})
		for range maxAccount {
			create(t, n, as("mallory", "k1"))
		}
		if _, err := n.Call(as("mallory", "k2"), "eth_newBlockFilter", []byte("[]")); !errors.Is(err, nodegate.AccountBusy) {
			t.Fatalf("one more: %v", err)
		}
		create(t, n, as("alice", "k3"))
		time.Sleep(idleTime + time.Second)
		create(t, n, as("mallory", "k2"))
		if len(n.table.byID) != 1 || len(n.table.count) != 1 {
			t.Errorf("%d filters of %d accounts are left", len(n.table.byID), len(n.table.count))
		}
	})
}
