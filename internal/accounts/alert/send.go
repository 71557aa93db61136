package alert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
)

// figures are what an alert tells.
type figures struct{ credits, limit int64 }

// told notes that an alert is done with.
func (w *Watch) told(ctx context.Context, alert nodegate.Alert, p *progress) error {
	p.done, p.tries, p.next = alert.Percent, 0, time.Time{}
	// A server that stops now must not have the next one send it again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	return w.cfg.Store.AlertSent(ctx, alert)
}

func pause(tries int) time.Duration {
	return min(firstPause<<min(tries, 10), longestPause)
}

// tell sends the letter; without a mail server the log has it, and names nobody.
//
// Returns InvalidInput for a reader whom the mail server refuses for good: trying again
// is no use. Any other failure is one that later letters would share.
func (w *Watch) tell(ctx context.Context, a *nodegate.Account, alert nodegate.Alert, f figures) error {
	if w.cfg.Send == nil {
		w.cfg.Log.Info("account has used most of its daily credits", "account", a.ID, "percent", alert.Percent, "credits", f.credits, "limit", f.limit)
		return nil
	}
	err := w.cfg.Send(ctx, w.letter(a, alert, f))
	if errors.Is(err, nodegate.InvalidInput) {
		w.cfg.Log.Warn("can't mail an account about its credits", "account", a.ID, "percent", alert.Percent, "err", err)
	}
	return err
}

func (w *Watch) letter(a *nodegate.Account, alert nodegate.Alert, f figures) mailer.Letter {
	var b strings.Builder
	fmt.Fprintf(&b, "Your account has used %d of its %d credits for %s (UTC): %d %%.\n\n",
		f.credits, f.limit, alert.Day.UTC().Format("2 January 2006"), f.credits*100/f.limit)
	if alert.Percent < 100 {
		b.WriteString("When they are used up, requests are refused with the status 402 until the next day begins.\n")
	} else {
		b.WriteString("Requests are refused with the status 402 until the next day begins.\n")
	}
	b.WriteString("Daily credits reset at 00:00 UTC. To move to a larger plan, contact the operator of the service.\n")
	if w.cfg.URL != "" {
		b.WriteString("\nSee your usage: " + strings.TrimSuffix(w.cfg.URL, "/") + "/usage\n")
	}
	subject := fmt.Sprintf("%d %% of today's credits are used", alert.Percent)
	if alert.Percent == 100 {
		subject = "Today's credits are used up"
	}
	return mailer.Letter{To: a.Email, Subject: subject, Text: b.String(), ID: letterID(alert)}
}

// letterID is the same for an alert that is sent again after a doubt, so that mail
// programs show it once.
func letterID(a nodegate.Alert) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", a.AccountID, a.Day.Unix(), a.Percent))
	return "credits-" + hex.EncodeToString(sum[:12])
}
