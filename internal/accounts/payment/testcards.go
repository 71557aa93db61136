package payment

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// TestProcessor is the embedded processor. It keeps nothing: a card that it
// accepted lives in the account alone.
type TestProcessor struct{}

// NewTest makes the embedded test processor.
func NewTest() *TestProcessor { return &TestProcessor{} }

// Name is stored with the cards of this processor.
func (*TestProcessor) Name() string { return "test" }

// Begin has nothing to prepare: the card comes with Complete.
func (*TestProcessor) Begin(context.Context, string, string) (nodegate.CardSetup, error) {
	return nodegate.CardSetup{ID: "test_setup_" + rand.Text()}, nil
}

// Remove has nothing to forget.
func (*TestProcessor) Remove(context.Context, *nodegate.Card) error { return nil }

// accepted are the public test numbers that stand for a good card, by brand.
var accepted = map[string]string{
	"4242424242424242": "visa", "4000056655665556": "visa",
	"5555555555554444": "mastercard", "2223003122003222": "mastercard",
	"5200828282828210": "mastercard", "5105105105105100": "mastercard",
	"378282246310005": "amex", "371449635398431": "amex",
	"6011111111111117": "discover", "6011000990139424": "discover", "6011981111111113": "discover",
	"3056930009020004": "diners", "36227206271667": "diners",
	"3566002020360505": "jcb",
	"6200000000000005": "unionpay", "6200000000000047": "unionpay", "6205500000000000004": "unionpay",
}

// refused are the public test numbers that stand for a bad card, by what its
// holder is told.
var refused = map[string]string{
	"4000000000000002": "the card was declined; use another card",
	"4000000000009995": "the card has insufficient funds; use another card",
	"4000000000009987": "the card was reported lost; use another card",
	"4000000000009979": "the card was reported stolen; use another card",
	"4000000000000069": "the card has expired; use another card",
	"4000000000000127": "the security code is wrong; check the back of the card",
	"4000000000000119": "the card could not be processed just now; try again later",
	"4000000000003220": "the card requires confirmation by its bank, which the test processor can't request; use another test card",
}

// Complete verifies a card by its number alone.
func (*TestProcessor) Complete(_ context.Context, e nodegate.CardEntry) (*nodegate.Card, error) {
	number, err := readNumber(e.Number)
	if err != nil {
		return nil, err
	}
	if !digits(e.CVC, 3, 4) {
		return nil, unreadable("the security code must have 3 or 4 digits")
	}
	card := &nodegate.Card{
		Brand: accepted[number], LastFour: number[len(number)-4:],
		ExpMonth: e.ExpMonth, ExpYear: fullYear(e.ExpYear),
		Processor: "test", Reference: "test_card_" + rand.Text(),
	}
	if err := checkExpiry(card, time.Now()); err != nil {
		return nil, err
	}
	if why, bad := refused[number]; bad {
		return nil, declined(why)
	}
	if card.Brand == "" {
		return nil, declined("this service uses the test processor, which accepts only the public test cards; " +
			"use 4242 4242 4242 4242, never a real card")
	}
	return card, nil
}

// longestEntry is what a number may take with its spaces and dashes.
const longestEntry = 40

// readNumber drops the marks that people put between groups of digits.
func readNumber(entry string) (string, error) {
	number := strings.NewReplacer(" ", "", "-", "").Replace(entry)
	switch {
	case len(entry) > longestEntry || !digits(number, 12, 19):
		return "", unreadable("enter a card number with 12 to 19 digits; spaces and dashes are allowed")
	case !luhn(number):
		return "", unreadable("the card number has a typing error; check it")
	}
	return number, nil
}

// digits tells whether s is made of least to most decimal digits.
func digits(s string, least, most int) bool {
	return len(s) >= least && len(s) <= most && strings.Trim(s, "0123456789") == ""
}

// luhn checks the last digit of a card number against the others: it finds any
// one wrong digit.
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0
}

// fullYear completes the two digits that stand on a card.
func fullYear(year int) int {
	if year >= 0 && year < 100 {
		return 2000 + year
	}
	return year
}

// furthest is how many years ahead an expiry may lie; cards are not made for longer.
const furthest = 20

func checkExpiry(c *nodegate.Card, now time.Time) error {
	switch {
	case c.ExpMonth < 1 || c.ExpMonth > 12:
		return unreadable("the expiry month must be 1 to 12")
	case c.ExpYear > now.UTC().Year()+furthest:
		return unreadable("the expiry year is too far in the future; check it")
	case !c.Valid(now):
		return declined("the card has expired; use another card")
	}
	return nil
}
