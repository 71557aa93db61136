// Package payment holds the two processors that verify billing cards.
//
// NewTest is the embedded one and the default: it knows the public test numbers,
// takes no real card and moves no money. NewStripe hands the card to Stripe: the
// customer types it into Stripe's own form in the browser, and we only ever see
// its brand, its last four digits and when it expires.
//
// Both keep the contract that stands on nodegate.CardProcessor. Whatever goes
// wrong, no card number, no security code and no secret of the processor gets
// into an error, a log line or a result.
package payment
