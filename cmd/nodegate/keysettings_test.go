package main

import (
	"testing"
	"time"
)

// TestExpiryOf: a key's expiry is a time, a day until its end, a duration from now, or never.
func TestExpiryOf(t *testing.T) {
	now := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"never":                     {},
		"720h":                      now.Add(720 * time.Hour),
		"2027-01-31":                time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC),
		"2027-01-31T12:00:00Z":      time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC),
		"2027-01-31T12:00:00+01:00": time.Date(2027, 1, 31, 11, 0, 0, 0, time.UTC),
	} {
		if got, err := expiryOf(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, want %v: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"", "0", "-1h", "soon", "31.1.2027", "2027-02-30"} {
		if got, err := expiryOf(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
