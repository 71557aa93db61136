package dashboard

import (
	"strings"
	"testing"
)

// Has fails the test for what a page lacks.
func (p Page) Has(t testing.TB, wanted ...string) Page {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(p.Body, w) {
			t.Errorf("the page (status %d) lacks %q:\n%s", p.Status, w, p.Body)
		}
	}
	return p
}

// Lacks fails the test for what a page has and should not.
func (p Page) Lacks(t testing.TB, unwanted ...string) Page {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(p.Body, w) {
			t.Errorf("the page (status %d) has %q:\n%s", p.Status, w, p.Body)
		}
	}
	return p
}

// Is ends the test for another status.
func (p Page) Is(t testing.TB, status int) Page {
	t.Helper()
	if p.Status != status {
		t.Fatalf("status %d, want %d:\n%s", p.Status, status, p.Body)
	}
	return p
}
