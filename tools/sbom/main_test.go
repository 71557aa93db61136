package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestBill makes the bill of this test's own binary, twice.
func TestBill(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := run([]string{binary}, "1700000000", b); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same binary has two bills")
	}
	var got bill
	if err := json.Unmarshal(first.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != "SPDX-2.3" || got.Creation.Created != "2023-11-14T22:13:20Z" || len(got.Packages) < 2 || len(got.Relationships) != len(got.Packages) {
		t.Errorf("the bill is %+v", got)
	}
	known := map[string]bool{document: true}
	for _, p := range got.Packages {
		if known[p.ID] || strings.ContainsAny(strings.TrimPrefix(p.ID, "SPDXRef-"), "/_ ") {
			t.Errorf("the ID %q can't be used, or is there twice", p.ID)
		}
		known[p.ID] = true
	}
	for _, r := range got.Relationships {
		if !known[r.From] || !known[r.To] {
			t.Errorf("%+v names a package that is not there", r)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		args  []string
		epoch string
	}{{nil, ""}, {[]string{"no such file"}, ""}, {[]string{os.Args[0]}, "yesterday"}} {
		if err := run(c.args, c.epoch, &bytes.Buffer{}); err == nil {
			t.Errorf("%q %q: no error", c.args, c.epoch)
		}
	}
}
