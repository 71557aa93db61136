package web

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "01", 0: "01", time.Millisecond: "01", time.Second: "01", 1001 * time.Millisecond: "02",
		9 * time.Second: "09", 10 * time.Second: "010", 15 * time.Second: "015", time.Hour: "03600",
	} {
		if got := RetryAfter(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
