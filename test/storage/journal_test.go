package storage_test

import (
	"testing"

	"github.com/nodegate/nodegate/internal/accounts/requestlog"
)

// TestJournal: the commands of a key can be looked at, with what failed and why.
func TestJournal(t *testing.T) {
	n := newTenant(t)
	n.add(t, "", file("a.txt", []byte("hello")))
	n.fails(t, "cat?arg=nonsense", 500, "invalid")
	p := n.Server.RequestLog().Latest("a-"+n.name, "k-"+n.name, requestlog.Filter{Network: "storage"})
	if p.Kept != 2 || p.Failed != 1 {
		t.Fatalf("got %+v", p)
	}
	if e := p.Entries[0]; e.Method != "cat" || e.Outcome == "ok" || e.Error == "" || e.Params != nil {
		t.Errorf("got %+v", e)
	}
	if e := p.Entries[1]; e.Method != "add" || e.Outcome != "ok" || e.Error != "" || e.Took <= 0 {
		t.Errorf("got %+v", e)
	}
}
