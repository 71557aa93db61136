package account

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/payment"
	"github.com/nodegate/nodegate/test/full"
)

func (d *desk) card(t *testing.T, accountID string) *nodegate.Card {
	t.Helper()
	a, err := d.Find(context.Background(), accountID)
	if err != nil {
		t.Fatal(err)
	}
	return a.Card
}

func (d *desk) putCard(t *testing.T, e nodegate.CardEntry) *nodegate.Card {
	t.Helper()
	card, err := d.PutCard(context.Background(), actor(), e)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

func TestPutAndReplaceCard(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	if setup, err := d.BeginCard(t.Context(), a.ID); err != nil || setup.ID == "" {
		t.Errorf("begins with %+v, %v", setup, err)
	}
	first := d.putCard(t, goodCard(a.ID))
	if got := d.card(t, a.ID); got == nil || *got != *first || !got.Valid(time.Now()) || got.LastFour != "4242" {
		t.Errorf("the account has %+v", got)
	}
	if len(d.cards.removed) != 0 {
		t.Errorf("removed %v", d.cards.removed)
	}
	other := goodCard(a.ID)
	other.Number = "5555555555554444"
	second := d.putCard(t, other)
	if got := d.card(t, a.ID); got == nil || *got != *second || got.Brand != "mastercard" {
		t.Errorf("the account has %+v", got)
	}
	if !slices.Equal(d.cards.removed, []string{first.Reference}) {
		t.Errorf("removed %v, want the first", d.cards.removed)
	}
}

func TestRefusedCardKeepsTheOldOne(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	first := d.putCard(t, goodCard(a.ID))
	before := d.auditCount(t)
	for number, code := range map[string]nodegate.Code{"4000000000000002": nodegate.CardDeclined, "4242424242424241": nodegate.InvalidInput} {
		e := goodCard(a.ID)
		e.Number = number
		card, err := d.PutCard(t.Context(), actor(), e)
		want(t, err, code, "")
		if got := d.card(t, a.ID); card != nil || got == nil || *got != *first {
			t.Errorf("the account has %+v", got)
		}
	}
	if d.auditCount(t) != before || len(d.cards.removed) != 0 {
		t.Errorf("an entry was written, or %v removed", d.cards.removed)
	}
}

func TestRemoveCard(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	card := d.putCard(t, goodCard(a.ID))
	before := d.auditCount(t)
	for range 2 {
		if err := d.RemoveCard(t.Context(), actor(), a.ID); err != nil {
			t.Fatal(err)
		}
		if got := d.card(t, a.ID); got != nil {
			t.Errorf("the account has %+v", got)
		}
	}
	if !slices.Equal(d.cards.removed, []string{card.Reference}) || d.auditCount(t) != before+1 {
		t.Errorf("removed %v", d.cards.removed)
	}
}

// TestCardSentTwice: the same set-up completed again brings the same card, which
// must not be removed as the one before.
func TestCardSentTwice(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	d.cards.again = d.putCard(t, goodCard(a.ID))
	d.putCard(t, goodCard(a.ID))
	if got := d.card(t, a.ID); got == nil || got.Reference != d.cards.again.Reference || len(d.cards.removed) != 0 {
		t.Errorf("the account has %+v; removed %v", got, d.cards.removed)
	}
}

// TestCardCantBeSaved: a card that didn't get onto the account is removed at the
// processor; one that perhaps did is not.
func TestCardCantBeSaved(t *testing.T) {
	for code, removed := range map[nodegate.Code]int{nodegate.Internal: 1, nodegate.Busy: 0} {
		t.Run(code.String(), func(t *testing.T) {
			d := newDesk(t)
			a := d.customer(t, "a@example.com")
			d.store.saveFails = &nodegate.Error{Code: code}
			card, err := d.PutCard(t.Context(), actor(), goodCard(a.ID))
			want(t, err, code, "")
			if card != nil || len(d.cards.removed) != removed {
				t.Errorf("got %+v; removed %v", card, d.cards.removed)
			}
		})
	}
}

// TestCardOfAnotherProcessor is not this one's to remove.
func TestCardOfAnotherProcessor(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	d.cards.again = &nodegate.Card{Brand: "visa", LastFour: "4242", ExpMonth: 1, ExpYear: 2040, Processor: "stripe", Reference: "cus_1/pm_1"}
	d.putCard(t, goodCard(a.ID))
	d.cards.again = nil
	d.putCard(t, goodCard(a.ID))
	if len(d.cards.removed) != 0 {
		t.Errorf("removed %v", d.cards.removed)
	}
}

// TestBrowserGoesAway right after the change: the processor is told all the same.
func TestBrowserGoesAway(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	card := d.putCard(t, goodCard(a.ID))
	ctx, cancel := context.WithCancel(t.Context())
	d.store.afterSave = cancel
	if err := d.RemoveCard(ctx, actor(), a.ID); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.cards.removed, []string{card.Reference}) {
		t.Errorf("removed %v", d.cards.removed)
	}
}

// TestProcessorCantForget: the card is off here at once; the log says what is left.
func TestProcessorCantForget(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	card := d.putCard(t, goodCard(a.ID))
	d.cards.refuses = &nodegate.Error{Code: nodegate.Busy, Msg: "down"}
	if err := d.RemoveCard(t.Context(), actor(), a.ID); err != nil || d.card(t, a.ID) != nil {
		t.Errorf("got %v, %+v", err, d.card(t, a.ID))
	}
	if !strings.Contains(d.log.String(), card.Reference) {
		t.Errorf("the log is %q", d.log.String())
	}
}

// TestProcessorUnreachable keeps the card that is there, also one of another processor.
func TestProcessorUnreachable(t *testing.T) {
	full.Slow(t)
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	card := d.putCard(t, goodCard(a.ID))
	gone := httptest.NewServer(nil)
	gone.Close()
	d.Service.cards.processor = payment.NewStripe(payment.StripeConfig{SecretKey: "sk_test_x", URL: gone.URL, HTTP: &http.Client{Timeout: time.Second}})
	if _, err := d.BeginCard(t.Context(), a.ID); err == nil {
		t.Error("begins without a processor")
	} else {
		want(t, err, nodegate.Busy, "")
	}
	_, err := d.PutCard(t.Context(), actor(), nodegate.CardEntry{AccountID: a.ID, SetupID: "seti_1"})
	want(t, err, nodegate.Busy, "")
	if got := d.card(t, a.ID); got == nil || *got != *card {
		t.Errorf("the account has %+v", got)
	}
	if err := d.RemoveCard(t.Context(), actor(), a.ID); err != nil || d.card(t, a.ID) != nil {
		t.Errorf("the old card can't be taken off: %v", err)
	}
}

// TestCardExpires in the first moment after its last month.
func TestCardExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		a := d.customer(t, "a@example.com")
		e := goodCard(a.ID)
		e.ExpMonth, e.ExpYear = 12, time.Now().Year()
		d.putCard(t, e)
		time.Sleep(time.Until(time.Date(e.ExpYear+1, 1, 1, 0, 0, 0, 0, time.UTC)) - time.Nanosecond)
		if !d.card(t, a.ID).Valid(time.Now()) {
			t.Error("not valid in its last month")
		}
		time.Sleep(time.Nanosecond)
		if d.card(t, a.ID).Valid(time.Now()) {
			t.Error("valid after its last month")
		}
		want(t, func() error { _, err := d.PutCard(t.Context(), actor(), e); return err }(), nodegate.CardDeclined, "expired")
	})
}
