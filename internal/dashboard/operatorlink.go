package dashboard

import (
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// resetLinkData is the page with a link that lets the owner of an account choose a password.
type resetLinkData struct {
	Account *nodegate.Account
	Link    string
	Expires time.Time
	Minutes int // for which the page can be reloaded
}

// makeResetLink creates a link for somebody who forgot the password, where no mail is sent. The
// operator passes it on, and never learns the new password.
func makeResetLink(v *visit) error {
	id := v.req.PathValue("id")
	token, _, err := v.cfg.Accounts.NewLink(v.req.Context(), v.actor(), nodegate.LinkReset, id, "")
	if err != nil {
		return err
	}
	return toReceipt(v, id, v.req.URL.EscapedPath(), account.Receipt{Secret: token})
}

// resetLinkPage shows the link that its receipt has, until it is used.
func resetLinkPage(v *visit) error {
	a, err := v.cfg.Accounts.Find(v.req.Context(), v.req.PathValue("id"))
	if err != nil {
		return err
	}
	receipt, ok := receiptOf(v, a.ID)
	if !ok {
		return v.seeOther("/operator/accounts/" + a.ID)
	}
	link, err := v.cfg.Accounts.Link(v.req.Context(), receipt.Secret)
	if err != nil {
		return v.seeOther("/operator/accounts/" + a.ID)
	}
	base, _ := v.base()
	return v.show("operator-link", resetLinkData{Account: a, Link: base + "/login/link/" + receipt.Secret, Expires: link.Expires, Minutes: int(receiptTime.Minutes())})
}
