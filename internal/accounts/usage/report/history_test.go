package report_test

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// TestHistoryFaults: a call that runs out of time on an embedded chain asked for too much, and
// nobody can spoil the status page with such calls. On nodes, the node may be slow.
func TestHistoryFaults(t *testing.T) {
	s := open(t)
	var rows []nodegate.Usage
	for _, network := range []string{"devnet", "main"} {
		for outcome, n := range map[string]int64{"ok": 10, nodegate.Timeout.String(): 5, nodegate.NoNode.String(): 3} {
			u := row(time.Minute, "k", "eth_call", outcome, n)
			u.Network = network
			rows = append(rows, u)
		}
	}
	add(t, s, 1, rows)
	r := report.New(report.Config{Store: s, Embedded: func(network string) bool { return network == "devnet" }})
	list, err := r.History(t.Context(), 1, now)
	if err != nil {
		t.Fatal(err)
	}
	faults := map[string]int64{}
	for i := range list {
		if day := list[i].Days[0]; day.Requests == 18 {
			faults[list[i].Network] = day.Faults
		}
	}
	if faults["devnet"] != 3 || faults["main"] != 8 {
		t.Errorf("faults: %v", faults)
	}
}
