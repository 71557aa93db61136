package account

import (
	"encoding/base64"
	"testing"
	"time"
)

// A receipt opens for its own account and key until it expires, and for nothing else.
func TestReceipt(t *testing.T) {
	d := newDesk(t)
	made := Receipt{Value: true, Secret: "s3cret", Until: time.Now().Add(time.Minute).UTC().Truncate(time.Second)}
	sealed, err := d.SealReceipt("a-1", "k-1", made)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := d.OpenReceipt("a-1", "k-1", sealed); !ok || got != made {
		t.Errorf("opens as %+v, %v", got, ok)
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	expired, err := d.SealReceipt("a-1", "k-1", Receipt{Secret: "s3cret", Until: time.Now().Add(-time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ account, key, sealed string }{
		"another account": {"a-2", "k-1", sealed},
		"another key":     {"a-1", "k-2", sealed},
		"a bit changed":   {"a-1", "k-1", base64.RawURLEncoding.EncodeToString(raw)},
		"expired":         {"a-1", "k-1", expired},
		"empty":           {"a-1", "k-1", ""},
		"no base64":       {"a-1", "k-1", "!"},
		"a sealed key":    {"a-1", "k-1", base64.RawURLEncoding.EncodeToString(d.cfg.Vault.Seal("k-1", `{"secret":"x","until":"2999-01-01T00:00:00Z"}`))},
	} {
		if got, ok := d.OpenReceipt(c.account, c.key, c.sealed); ok || got != (Receipt{}) {
			t.Errorf("%s: opens as %+v", name, got)
		}
	}
}
