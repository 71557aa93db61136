package payment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/nodegate/nodegate"
)

const op = "payment"

// unreadable is the error of a card or a setup that can't be understood.
func unreadable(msg string) error {
	return &nodegate.Error{Op: op, Code: nodegate.InvalidInput, Msg: msg}
}

// declined is the error of a card that is understood and not taken.
func declined(msg string) error {
	return &nodegate.Error{Op: op, Code: nodegate.CardDeclined, Msg: msg}
}

// retryAfter is when asking an overloaded or unreachable processor again makes sense.
const retryAfter = 5 * time.Second

// stripeError translates what the library returned. Its own text is left out: it
// can hold the client secret, the customer's address or the whole card object.
func stripeError(err error) error {
	var se *stripe.Error
	if !errors.As(err, &se) {
		return unreachable(withoutURL(err))
	}
	cause := fmt.Errorf("stripe answered %d, type %q, code %q, request %q", se.HTTPStatusCode, se.Type, se.Code, se.RequestID)
	switch {
	case se.Type == stripe.ErrorTypeCard:
		return &nodegate.Error{Op: op, Code: nodegate.CardDeclined, Msg: cardMessage(se), Err: cause}
	case se.HTTPStatusCode == http.StatusTooManyRequests, se.HTTPStatusCode == http.StatusConflict,
		se.HTTPStatusCode >= http.StatusInternalServerError:
		return unreachable(cause)
	}
	return &nodegate.Error{Op: op, Code: nodegate.Internal,
		Msg: "the payment processor rejected the request; the operator can check payment.stripe_key and the log", Err: cause}
}

func unreachable(cause error) error {
	return &nodegate.Error{Op: op, Code: nodegate.Busy, RetryAfter: retryAfter,
		Msg: "the payment processor can't be reached; try again later", Err: cause}
}

// withoutURL keeps the reason of a failed request and drops its address: the
// query of one holds an e-mail address.
func withoutURL(err error) error {
	var ue *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.As(err, &ue):
		return ue.Err
	}
	return errors.New("the answer can't be read")
}

// cardMessage is Stripe's own sentence for the holder of the card.
func cardMessage(se *stripe.Error) string {
	const longest = 200
	if se == nil || se.Type != stripe.ErrorTypeCard || se.Msg == "" || len(se.Msg) > longest {
		return "the card was declined; use another card"
	}
	return se.Msg
}

// missing tells whether Stripe does not know the object that was asked for.
func missing(err error) bool {
	var se *stripe.Error
	return errors.As(err, &se) && (se.Code == stripe.ErrorCodeResourceMissing || se.HTTPStatusCode == http.StatusNotFound)
}
