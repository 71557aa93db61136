package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestExportInPieces: an export of many keys has each of them once, in order, and is written
// piece by piece.
func TestExportInPieces(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	settings := nodegate.KeySettings{UserAgents: []string{strings.Repeat("a", 250), strings.Repeat("b", 250), strings.Repeat("c", 250)}}
	for i := range 2*exportPage + 5 {
		if _, err := d.CreateKey(t.Context(), actor(), a.ID, fmt.Sprint("key ", i), settings); err != nil {
			t.Fatal(err)
		}
	}
	var w pieces
	if err := d.WriteExport(t.Context(), &w, a.ID, nil); err != nil {
		t.Fatal(err)
	}
	if w.count < 2 || w.largest > 2*exportBuffer {
		t.Errorf("%d pieces, the largest of %d bytes", w.count, w.largest)
	}
	e := parsedExport(t, w.Bytes())
	if len(e.Keys) != 2*exportPage+5 {
		t.Fatalf("%d keys", len(e.Keys))
	}
	for i, k := range e.Keys {
		if k.Name != fmt.Sprint("key ", i) {
			t.Fatalf("key %d is %s", i, k.Name)
		}
	}
}

// pieces counts what is written.
type pieces struct {
	bytes.Buffer
	count, largest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.count, p.largest = p.count+1, max(p.largest, len(b))
	return p.Buffer.Write(b)
}

// TestOneExport: an account gets one export at a time, and the next one after it, also after
// one that failed.
func TestOneExport(t *testing.T) {
	d := newDesk(t)
	a, other := d.person(t, "a@example.com"), d.person(t, "b@example.com")
	broken := errors.New("broken")
	err := d.WriteExport(t.Context(), new(bytes.Buffer), a.ID, func(func(nodegate.Pin) bool) error {
		var w bytes.Buffer
		err := d.WriteExport(t.Context(), &w, a.ID, nil)
		want(t, err, nodegate.AccountBusy, "another export of this account is in progress")
		if nodegate.AsError(err).RetryAfter <= 0 || w.Len() > 0 {
			t.Errorf("%v, %d bytes", err, w.Len())
		}
		if err := d.WriteExport(t.Context(), &w, other.ID, nil); err != nil {
			t.Errorf("another account: %v", err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if err := d.WriteExport(t.Context(), new(bytes.Buffer), a.ID, nil); err != nil {
		t.Errorf("the next one: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.WriteExport(gone, new(bytes.Buffer), a.ID, nil); err == nil {
		t.Error("a client that left gets an export")
	}
}

// TestSettingsOfKey: a key with too many settings isn't created; the message says how many bytes
// there are and how many are allowed.
func TestSettingsOfKey(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	var large nodegate.KeySettings
	for i := range 30 {
		large.UserAgents = append(large.UserAgents, fmt.Sprintf("%0256d", i))
		large.Origins = append(large.Origins, fmt.Sprintf("https://app%02d.example.com", i))
	}
	_, err := d.CreateKey(t.Context(), actor(), a.ID, "large", large)
	want(t, err, nodegate.InvalidInput, "bytes in all, and at most 8,192 bytes (8 KiB) are allowed")
	k := d.key(t, a.ID)
	err = d.UpdateKey(t.Context(), actor(), a.ID, k.Key.ID, func(_ *string, s *nodegate.KeySettings) { *s = large })
	want(t, err, nodegate.InvalidInput, "at most 8,192 bytes")
}
