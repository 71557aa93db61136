package main

import (
	"slices"
	"testing"
)

func TestParseSizes(t *testing.T) {
	got, err := parseSizes("100, 1000,10000")
	if err != nil || !slices.Equal(got, []int{100, 1000, 10_000}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1,", "0", "-5", "10,10", "100,10", "1k"} {
		if list, err := parseSizes(bad); err == nil {
			t.Errorf("%q is read as %v", bad, list)
		}
	}
}

func TestFlags(t *testing.T) {
	o, err := parseFlags([]string{"-of", "usage,keys", "-keys", "5,50", "-of", "keys"})
	if err != nil || len(o.of) != 1 || o.of[0].name != "keys" || !slices.Equal(o.sizes["keys"], []int{5, 50}) || len(o.sizes) != len(parts()) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parseFlags(nil); err != nil || len(o.of) != len(parts()) {
		t.Errorf("without flags: %+v, %v", o, err)
	}
	for _, bad := range []string{"-of=nothing", "-blocks=many"} {
		if _, err := parseFlags([]string{bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
