package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nodegate/nodegate/bench/chainfile"
)

func TestWorkloads(t *testing.T) {
	files, err := chainfile.Small(filepath.Join(t.TempDir(), "chain"), 2)
	if err != nil {
		t.Fatal(err)
	}
	_, blocks, err := chainfile.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workloads(blocks) {
		seen := map[string]bool{}
		for i, b := range w.bodies {
			text := b.Text(uint64(i))
			var envelope struct{ Method string }
			if err := json.Unmarshal(text, &envelope); err != nil || envelope.Method != w.method {
				t.Fatalf("%s: %s: method %q, error %v", w.name, text, envelope.Method, err)
			}
			if seen[string(text)] {
				t.Errorf("%s: twice %s", w.name, text)
			}
			seen[string(text)] = true
		}
	}
	only := regexp.MustCompile("eth_call")
	if list := chosen(workloads(blocks), only); len(list) != 3 {
		t.Errorf("%d rows match %s", len(list), only)
	}
}
