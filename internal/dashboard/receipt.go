package dashboard

import (
	"net/http"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// receiptCookie carries a new key's secret, sealed, from the change to the page that shows
// it. Browsers send it to that page only.
const receiptCookie = "__Secure-receipt"

// receiptTime is how long the page can be reloaded.
const receiptTime = 5 * time.Minute

// toIssued leads to the page of a key that was created or rotated.
func toIssued(v *visit, issued *account.IssuedKey, rotated bool) error {
	id := issued.Key.ID
	return toReceipt(v, id, "/keys/"+id+"/issued", account.Receipt{Rotated: rotated, Value: issued.Value != "", Secret: issued.Secret})
}

// toReceipt leads to a page that shows what nobody can see again, for a few minutes.
func toReceipt(v *visit, subject, page string, r account.Receipt) error {
	r.Until = time.Now().Add(receiptTime)
	sealed, err := v.cfg.Accounts.SealReceipt(v.account.ID, subject, r)
	if err != nil {
		return err
	}
	http.SetCookie(v.w, &http.Cookie{
		Name: receiptCookie, Value: sealed, Path: page, MaxAge: int(receiptTime.Seconds()),
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	})
	return v.seeOther(page)
}

// receiptOf opens the receipt that the browser has for a page.
func receiptOf(v *visit, subject string) (r account.Receipt, ok bool) {
	cookie, err := v.req.Cookie(receiptCookie)
	if err != nil {
		return r, false
	}
	return v.cfg.Accounts.OpenReceipt(v.account.ID, subject, cookie.Value)
}

// issuedData is the page after a key was created or rotated: the only one with a secret.
type issuedData struct {
	Key           *nodegate.Key
	Done          string // what happened
	Value, Secret string // "" where it is not new
	Waiting       bool   // for the account's first request
	Minutes       int    // for which the page can be reloaded
	Old           []time.Time
	reach
}

// issuedPage shows what the receipt has. Without one it leads to the key's own page.
func issuedPage(v *visit) error {
	k, err := v.key()
	if err != nil {
		return err
	}
	receipt, ok := receiptOf(v, k.ID)
	if !ok || !k.Live() {
		return v.seeOther("/keys/" + k.ID)
	}
	return showIssued(v, k, receipt)
}

func showIssued(v *visit, k *nodegate.Key, r account.Receipt) error {
	d := issuedData{Key: k, Done: "Key created", Secret: r.Secret, Minutes: int(receiptTime.Minutes()), Old: oldUntil(k, time.Now())}
	if r.Rotated {
		d.Done = "Key rotated"
	}
	value, err := v.cfg.Accounts.Reveal(v.req.Context(), v.account.ID, k.ID)
	if err != nil {
		return err
	}
	if r.Value {
		d.Value = value
	}
	if d.reach, err = reachOf(v, k, value); err != nil {
		return err
	}
	arrived, err := hasRequests(v, nil)
	if err != nil {
		return err
	}
	d.Waiting = !arrived
	d.Tools.Choices = nil // links would lead away from the secret
	return v.show("issued", d)
}
