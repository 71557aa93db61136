package payment

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/nodegate/nodegate"
)

// StripeConfig says how to reach Stripe.
type StripeConfig struct {
	SecretKey string       // sk_... or rk_...
	PublicKey string       // pk_..., for the form in the browser
	URL       string       // another address of the API, for tests; "" is Stripe
	HTTP      *http.Client // nil makes one
}

// Stripe verifies cards with Stripe's SetupIntents.
type Stripe struct {
	key, publicKey string
	backend        stripe.Backend
}

// The times of one operation and of one try within it. The library waits half a
// second or more between its tries.
const (
	operationTime = 10 * time.Second
	tryTime       = 4 * time.Second
	retries       = 2
)

// NewStripe makes the processor. It does not call Stripe yet.
//
// The library's typed client links all of Stripe; three kinds of objects are
// enough here, so the calls go to its backend directly.
func NewStripe(cfg StripeConfig) *Stripe {
	return &Stripe{
		key: cfg.SecretKey, publicKey: cfg.PublicKey,
		backend: stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
			URL:               stripe.String(cmp.Or(cfg.URL, stripe.APIURL)),
			HTTPClient:        discreet(cfg.HTTP),
			EnableTelemetry:   stripe.Bool(false),
			LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
			MaxNetworkRetries: stripe.Int64(retries),
		}),
	}
}

// Name is stored with the cards of this processor.
func (*Stripe) Name() string { return "stripe" }

// Begin makes a SetupIntent for the account's customer at Stripe.
func (s *Stripe) Begin(ctx context.Context, accountID, email string) (nodegate.CardSetup, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	customer, err := s.customer(ctx, accountID, email)
	if err != nil {
		return nodegate.CardSetup{}, stripeError(err)
	}
	p := &stripe.SetupIntentCreateParams{
		Params:             common(ctx, "nodegate-setup-"+rand.Text()),
		Customer:           stripe.String(customer),
		Usage:              stripe.String(stripe.SetupIntentUsageOffSession),
		PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		Metadata:           map[string]string{accountLabel: accountID},
	}
	intent := &stripe.SetupIntent{}
	if err := s.backend.Call(http.MethodPost, "/v1/setup_intents", s.key, p, intent); err != nil {
		return nodegate.CardSetup{}, stripeError(err)
	}
	if intent.ID == "" || intent.ClientSecret == "" {
		return nodegate.CardSetup{}, unreachable(errors.New("the answer is no SetupIntent"))
	}
	return nodegate.CardSetup{ID: intent.ID, ClientSecret: intent.ClientSecret, PublicKey: s.publicKey}, nil
}

// accountLabel is the metadata that ties objects at Stripe to an account.
const accountLabel = "account_id"

// customer finds the account's customer, or makes one. Two requests at once get
// the same, by the idempotency key. The hour is part of it: Stripe keeps the
// answer to a key for a day, failures too.
func (s *Stripe) customer(ctx context.Context, accountID, email string) (string, error) {
	query := url.Values{"email": {email}, "limit": {"100"}}.Encode()
	found := &stripe.CustomerList{}
	err := s.backend.CallRaw(http.MethodGet, "/v1/customers", s.key, []byte(query), &stripe.Params{Context: ctx}, found)
	if err != nil {
		return "", err
	}
	for _, c := range found.Data {
		if c.Metadata[accountLabel] == accountID && !c.Deleted {
			return c.ID, nil
		}
	}
	hour := time.Now().UTC().Format("2006-01-02T15")
	digest := sha256.Sum256([]byte(accountID + "\n" + email + "\n" + hour))
	p := &stripe.CustomerCreateParams{
		Params:   common(ctx, "nodegate-customer-"+hex.EncodeToString(digest[:])),
		Email:    stripe.String(email),
		Metadata: map[string]string{accountLabel: accountID},
	}
	made := &stripe.Customer{}
	err = s.backend.Call(http.MethodPost, "/v1/customers", s.key, p, made)
	return made.ID, err
}

// common are the parameters of every request that changes something. The
// library sends the same key with each of its tries.
func common(ctx context.Context, idempotencyKey string) stripe.Params {
	return stripe.Params{Context: ctx, IdempotencyKey: &idempotencyKey}
}

var setupID = regexp.MustCompile(`^seti_[A-Za-z0-9_]{1,100}$`)

// errSetup is one error for a setup that is not there and for somebody else's,
// so that nobody can find out which ones exist.
func errSetup() error {
	return unreadable("this card setup is unknown; start over")
}

// Complete reads the SetupIntent that the browser finished, and its card.
func (s *Stripe) Complete(ctx context.Context, e nodegate.CardEntry) (*nodegate.Card, error) {
	if !setupID.MatchString(e.SetupID) || e.AccountID == "" {
		return nil, errSetup()
	}
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	intent := &stripe.SetupIntent{}
	p := &stripe.SetupIntentRetrieveParams{Params: stripe.Params{Context: ctx}}
	err := s.backend.Call(http.MethodGet, stripe.FormatURLPath("/v1/setup_intents/%s", e.SetupID), s.key, p, intent)
	switch {
	case missing(err):
		return nil, errSetup()
	case err != nil:
		return nil, stripeError(err)
	case intent.Metadata[accountLabel] != e.AccountID || intent.Customer == nil:
		return nil, errSetup()
	}
	if err := checkIntent(intent); err != nil {
		return nil, err
	}
	method, err := s.method(ctx, intent.PaymentMethod.ID)
	switch {
	case missing(err):
		return nil, declined("the card was removed in the meantime; start over")
	case err != nil:
		return nil, stripeError(err)
	}
	return readMethod(method, intent.Customer.ID)
}

// checkIntent refuses a setup that has not come to its end.
func checkIntent(i *stripe.SetupIntent) error {
	switch i.Status {
	case stripe.SetupIntentStatusSucceeded:
		if i.PaymentMethod != nil {
			return nil
		}
	case stripe.SetupIntentStatusRequiresPaymentMethod:
		return declined(cardMessage(i.LastSetupError))
	case stripe.SetupIntentStatusProcessing:
		return declined("the card is still being checked; try again in a minute")
	case stripe.SetupIntentStatusRequiresAction, stripe.SetupIntentStatusRequiresConfirmation:
		return declined("the card is not confirmed yet; complete your bank's steps, or use another card")
	case stripe.SetupIntentStatusCanceled:
		return declined("this card setup was canceled; start over")
	}
	return declined("this card setup has no card; start over")
}

func (s *Stripe) method(ctx context.Context, id string) (*stripe.PaymentMethod, error) {
	method := &stripe.PaymentMethod{}
	p := &stripe.PaymentMethodRetrieveParams{Params: stripe.Params{Context: ctx}}
	err := s.backend.Call(http.MethodGet, stripe.FormatURLPath("/v1/payment_methods/%s", id), s.key, p, method)
	return method, err
}

// readMethod takes the few facts that are kept of a card. One that is no longer
// the customer's was removed at Stripe.
func readMethod(m *stripe.PaymentMethod, customer string) (*nodegate.Card, error) {
	switch {
	case m.Card == nil:
		return nil, declined("only cards are accepted; use a card")
	case m.Customer == nil || m.Customer.ID != customer:
		return nil, declined("the card was removed in the meantime; start over")
	}
	card := &nodegate.Card{
		Brand: string(m.Card.Brand), LastFour: m.Card.Last4,
		ExpMonth: int(m.Card.ExpMonth), ExpYear: int(m.Card.ExpYear),
		Processor: "stripe", Reference: reference(customer, m.ID),
	}
	if !card.Valid(time.Now()) {
		return nil, declined("the card has expired; use another card")
	}
	return card, nil
}
