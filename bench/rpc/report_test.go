package main

import (
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		better, worse, want float64
		cells               string
	}{
		{40, 10, 4, "4.0x\t4x\tmet"},
		{39, 10, 4, "3.9x\t4x\tMISSED"},
		{39, 10, 0, "3.9x\t\t"},
		{39, 0, 4, "-\t\t"},
	} {
		if got := ratio(c.better, c.worse, c.want); got != c.cells {
			t.Errorf("%q, want %q", got, c.cells)
		}
	}
}

func TestToSpec(t *testing.T) {
	legacy := map[string]any{"type": "0x0", "chainId": "0x1", "yParity": "0x0"}
	toSpec("eth_getTransactionByHash", legacy)
	if len(legacy) != 1 {
		t.Errorf("legacy by hash: %v", legacy)
	}
	typed := map[string]any{"type": "0x2", "chainId": "0x1", "yParity": "0x0"}
	toSpec("eth_getTransactionByBlockHashAndIndex", typed)
	if len(typed) != 3 {
		t.Errorf("typed by place: %v", typed)
	}
}

func TestMiddleRows(t *testing.T) {
	start := func(before, now float64, errors uint64) []row {
		return []row{{Name: "eth_call", Figures: map[string]figures{beforeName: {CPU: before}, "nodegate": {CPU: now, Errors: errors}}}}
	}
	rows := middleRows([][]row{start(10, 12, 1), start(20, 18, 0), start(10, 11, 2)})
	if len(rows) != 1 || rows[0].Figures["nodegate"].CPU != 12 || rows[0].Figures[beforeName].CPU != 10 || rows[0].Figures["nodegate"].Errors != 3 {
		t.Errorf("joined: %+v", rows)
	}
	if got := spread(rows[0].Changes); got != "-10.0 +10.0 +20.0 %" {
		t.Errorf("changes: %s", got)
	}
}

func TestReportNamesErrors(t *testing.T) {
	var out strings.Builder
	r := report{
		Methods: []row{{Name: "eth_call", Figures: map[string]figures{"geth": {Rate: 1, CPU: 2}, "nodegate": {Rate: 2, CPU: 1, Errors: 3, First: "boom"}}}},
		Start:   &startFigures{First: 6, Reopened: 0.5, IdleFirst: 100, Idle: 100},
	}
	r.print(&out, &options{})
	for _, want := range []string{"3 errors from nodegate, the first: boom", "2.0x", "goal under 5 s  MISSED", "goal under 1 s     met"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
