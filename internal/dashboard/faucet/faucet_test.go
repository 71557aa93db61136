package faucet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

const address = "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

func newFaucet(given *int) *Faucet {
	return New(map[string]Give{"devnet": func(_ context.Context, to [20]byte) (string, error) {
		if to[0] != 0xf3 || to[19] != 0x66 {
			return "", errors.New("another address")
		}
		*given++
		return "0xhash", nil
	}})
}

func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name, network, address string
		want                   nodegate.Code
	}{
		{"another network", "mainnet", address, nodegate.NotFound},
		{"no prefix", "devnet", address[2:], nodegate.InvalidInput},
		{"too short", "devnet", address[:41], nodegate.InvalidInput},
		{"too long", "devnet", address + "00", nodegate.InvalidInput},
		{"no hex", "devnet", "0xZ39Fd6e51aad88F6F4ce6aB8827279cffFb92266", nodegate.InvalidInput},
		{"empty", "devnet", "", nodegate.InvalidInput},
	} {
		given := 0
		if _, err := newFaucet(&given).Ask(context.Background(), "a-1", c.network, c.address); !errors.Is(err, c.want) || given != 0 {
			t.Errorf("%s: %v, given %d times", c.name, err, given)
		}
	}
	given := 0
	if hash, err := newFaucet(&given).Ask(context.Background(), "a-1", "devnet", " "+address+"\n"); err != nil || hash != "0xhash" || given != 1 {
		t.Errorf("%q, %v", hash, err)
	}
}

// An account is given to now and then; others are not held up by it.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := 0
		f, ctx := newFaucet(&given), t.Context()
		ask := func(account string) error {
			_, err := f.Ask(ctx, account, "devnet", address)
			return err
		}
		if err := ask("a-1"); err != nil {
			t.Fatal(err)
		}
		if err := ask("a-1"); !errors.Is(err, nodegate.RateLimited) {
			t.Errorf("at once again: %v", err)
		}
		if err := ask("a-2"); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		time.Sleep(pause)
		if err := ask("a-1"); err != nil || given != 3 {
			t.Errorf("later: %v, given %d times", err, given)
		}
	})
}

// The memory of who asked is bounded, and those who waited make room.
func TestForgets(t *testing.T) {
	f, now := New(nil), time.Now()
	for i := range maxAccounts {
		if !f.allow(string(rune(i)), now) {
			t.Fatalf("account %d was refused", i)
		}
	}
	if f.allow("one more", now) {
		t.Error("there is no bound")
	}
	if !f.allow("one more", now.Add(pause)) || len(f.last) != 1 {
		t.Errorf("%d are remembered", len(f.last))
	}
}
