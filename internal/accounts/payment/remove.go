package payment

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"

	"github.com/stripe/stripe-go/v86"

	"github.com/nodegate/nodegate"
)

// reference names a card at Stripe: whose it is, and which.
func reference(customer, method string) string { return customer + "/" + method }

// Remove takes the card from its customer at Stripe, so that it can't be charged
// any more. The customer stays, for the next card.
func (s *Stripe) Remove(ctx context.Context, c *nodegate.Card) error {
	if c == nil || c.Processor != s.Name() {
		return nil // another processor's card is not at Stripe
	}
	_, id, ok := strings.Cut(c.Reference, "/")
	if !ok || !strings.HasPrefix(id, "pm_") {
		return &nodegate.Error{Op: op, Code: nodegate.Internal, Msg: "the card's reference can't be read"}
	}
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	p := &stripe.PaymentMethodDetachParams{Params: common(ctx, "nodegate-detach-"+rand.Text())}
	err := s.backend.Call(http.MethodPost, stripe.FormatURLPath("/v1/payment_methods/%s/detach", id), s.key, p, &stripe.PaymentMethod{})
	if err == nil || missing(err) || s.detached(ctx, id, err) {
		return nil
	}
	return stripeError(err)
}

// detached tells whether a card has no customer. Stripe refuses to detach such a
// card and has no code of its own for that.
func (s *Stripe) detached(ctx context.Context, id string, why error) bool {
	var se *stripe.Error
	if !errors.As(why, &se) || se.HTTPStatusCode != http.StatusBadRequest {
		return false
	}
	m, err := s.method(ctx, id)
	return missing(err) || err == nil && m.Customer == nil
}
