package payment

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

var (
	_ nodegate.CardProcessor = (*TestProcessor)(nil)
	_ nodegate.CardProcessor = (*Stripe)(nil)
)

// entry is a good card that the tests change one thing of.
func entry(number string) nodegate.CardEntry {
	return nodegate.CardEntry{AccountID: "a1", Number: number, ExpMonth: 12, ExpYear: time.Now().Year() + 3, CVC: "123"}
}

func TestAcceptedCards(t *testing.T) {
	p := NewTest()
	for number, brand := range accepted {
		card, err := p.Complete(t.Context(), entry(number))
		if err != nil {
			t.Errorf("a test number of %s: %v", brand, err)
			continue
		}
		want := nodegate.Card{
			Brand: brand, LastFour: number[len(number)-4:], ExpMonth: 12, ExpYear: time.Now().Year() + 3,
			Processor: "test", Reference: card.Reference,
		}
		if *card != want {
			t.Errorf("got %+v, want %+v", *card, want)
		}
		if len(card.Reference) < 20 || strings.Contains(fmt.Sprintf("%+v", *card), number) {
			t.Errorf("the reference is short, or the number is in %+v", *card)
		}
	}
}

func TestReferencesDiffer(t *testing.T) {
	p := NewTest()
	one, err := p.Complete(t.Context(), entry("4242424242424242"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := p.Complete(t.Context(), entry("4242424242424242"))
	if err != nil {
		t.Fatal(err)
	}
	if one.Reference == two.Reference {
		t.Error("two cards have one reference")
	}
	if err := p.Remove(t.Context(), one); err != nil {
		t.Error(err)
	}
}

func TestRefusedCards(t *testing.T) {
	year := time.Now().Year()
	change := func(f func(*nodegate.CardEntry)) nodegate.CardEntry {
		e := entry("4242424242424242")
		f(&e)
		return e
	}
	for _, c := range []struct {
		name  string
		entry nodegate.CardEntry
		code  nodegate.Code
		says  string
	}{
		{"declined", entry("4000000000000002"), nodegate.CardDeclined, "was declined"},
		{"funds", entry("4000000000009995"), nodegate.CardDeclined, "insufficient funds"},
		{"expired number", entry("4000000000000069"), nodegate.CardDeclined, "expired"},
		{"wrong code", entry("4000000000000127"), nodegate.CardDeclined, "security code is wrong"},
		{"challenge", entry("4000 0000 0000 3220"), nodegate.CardDeclined, "test processor can't request"},
		{"a real card", entry("4539148803436467"), nodegate.CardDeclined, "test processor"},
		{"one digit wrong", entry("4242424242424241"), nodegate.InvalidInput, "typing error"},
		{"letters", entry("4242a24242424242"), nodegate.InvalidInput, "12 to 19 digits"},
		{"empty", entry(""), nodegate.InvalidInput, "12 to 19 digits"},
		{"short", entry("42424242"), nodegate.InvalidInput, "12 to 19 digits"},
		{"long", entry("42424242424242424242"), nodegate.InvalidInput, "12 to 19 digits"},
		{"padded without end", entry("4242424242424242" + strings.Repeat(" ", 1000)), nodegate.InvalidInput, "12 to 19 digits"},
		{"other digits", entry("٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢"), nodegate.InvalidInput, "12 to 19 digits"},
		{"no security code", change(func(e *nodegate.CardEntry) { e.CVC = "" }), nodegate.InvalidInput, "security code"},
		{"five digits", change(func(e *nodegate.CardEntry) { e.CVC = "12345" }), nodegate.InvalidInput, "security code"},
		{"no month", change(func(e *nodegate.CardEntry) { e.ExpMonth = 0 }), nodegate.InvalidInput, "month"},
		{"month 13", change(func(e *nodegate.CardEntry) { e.ExpMonth = 13 }), nodegate.InvalidInput, "month"},
		{"last year", change(func(e *nodegate.CardEntry) { e.ExpYear = year - 1 }), nodegate.CardDeclined, "expired"},
		{"year before all", change(func(e *nodegate.CardEntry) { e.ExpYear = -5 }), nodegate.CardDeclined, "expired"},
		{"21 years", change(func(e *nodegate.CardEntry) { e.ExpYear = year + 21 }), nodegate.InvalidInput, "too far"},
	} {
		t.Run(c.name, func(t *testing.T) {
			card, err := NewTest().Complete(t.Context(), c.entry)
			if card != nil || !errors.Is(err, c.code) || !strings.Contains(nodegate.AsError(err).Msg, c.says) {
				t.Fatalf("got %v, %v; want %v that says %q", card, err, c.code, c.says)
			}
			if number := c.entry.Number; number != "" && strings.Contains(err.Error(), number) {
				t.Errorf("the number is in the error")
			}
		})
	}
}

// TestMarksBetweenDigits takes numbers as people copy them, and years as they
// stand on the card.
func TestMarksBetweenDigits(t *testing.T) {
	for _, number := range []string{"4242 4242 4242 4242", "4242-4242-4242-4242", " 42424242 42424242 "} {
		e := entry(number)
		e.ExpYear %= 100
		card, err := NewTest().Complete(t.Context(), e)
		if err != nil || card.LastFour != "4242" || card.ExpYear != time.Now().Year()+3 {
			t.Errorf("%q: got %+v, %v", number, card, err)
		}
	}
}

// TestLastMonth finds the very end of a card's life.
func TestLastMonth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := entry("4242424242424242")
		e.ExpMonth, e.ExpYear = 2, 2000
		time.Sleep(time.Until(time.Date(2000, 3, 1, 0, 0, 0, 0, time.UTC)) - time.Nanosecond)
		if _, err := NewTest().Complete(t.Context(), e); err != nil {
			t.Errorf("in its last month: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := NewTest().Complete(t.Context(), e); !errors.Is(err, nodegate.CardDeclined) {
			t.Errorf("a month later: %v", err)
		}
	})
}

func TestBeginOfTheTestProcessor(t *testing.T) {
	one, err := NewTest().Begin(t.Context(), "a1", "a@example.com")
	if err != nil || one.ID == "" || one.ClientSecret != "" || one.PublicKey != "" {
		t.Errorf("got %+v, %v", one, err)
	}
}

// TestLuhn changes one digit of a good number: that is always found.
func TestLuhn(t *testing.T) {
	for number := range refused {
		if !luhn(number) {
			t.Errorf("a number of the refused list has a typing error: it ends in %s", number[12:])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.StringMatching(`[0-9]{11,18}`).Draw(t, "body")
		good := ""
		for d := byte('0'); d <= '9'; d++ {
			if n := body + string(d); luhn(n) {
				if good != "" {
					t.Fatalf("two last digits fit %s", body)
				}
				good = n
			}
		}
		if good == "" {
			t.Fatalf("no last digit fits %s", body)
		}
		bad := []byte(good)
		i := rapid.IntRange(0, len(bad)-1).Draw(t, "place")
		bad[i] = '0' + (bad[i]-'0'+byte(rapid.IntRange(1, 9).Draw(t, "step")))%10
		if luhn(string(bad)) {
			t.Fatalf("%s passes, and so does %s", good, bad)
		}
	})
}
