package account

import (
	"fmt"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestKeysOfPlan lowers a plan's bound below what an account has: its keys stay, and
// the refusal says how many there are, how many are allowed and what helps.
func TestKeysOfPlan(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	for range 3 {
		d.key(t, a.ID)
	}
	small := d.now.Load().byName["free"]
	small.Keys = 2
	d.now.Load().byName["free"] = small
	create := func() error {
		_, err := d.CreateKey(t.Context(), actor(), a.ID, "one more", nodegate.KeySettings{})
		return err
	}
	want(t, create(), nodegate.QuotaReached, "the account has 3 API keys and its plan allows 2: revoke one")
	keys, err := d.Keys(t.Context(), a.ID)
	if err != nil || len(keys) != 3 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	for _, k := range keys[:2] {
		if !k.Live() {
			t.Error("a key ended with the new bound")
		}
		if err := d.RevokeKey(t.Context(), actor(), a.ID, k.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(); err != nil {
		t.Errorf("below the bound: %v", err)
	}
}

// TestCreatedKeys creates and revokes until the day's bound.
func TestCreatedKeys(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	small := d.now.Load().byName["free"]
	small.Keys = 1
	d.now.Load().byName["free"] = small
	for i := range minKeysPerDay {
		if err := d.RevokeKey(t.Context(), actor(), a.ID, d.key(t, a.ID).Key.ID); err != nil {
			t.Fatal(err)
		}
		if i == 0 && d.keyLimits(a).Created != minKeysPerDay {
			t.Fatal("the day's bound is another")
		}
	}
	_, err := d.CreateKey(t.Context(), actor(), a.ID, "one more", nodegate.KeySettings{})
	want(t, err, nodegate.AccountBusy, fmt.Sprintf("has created %d API keys within a day", minKeysPerDay))
}
