package dashboard

import (
	"fmt"
	"time"

	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// banner warns on every page of a limit that is near or reached.
type banner struct {
	Full     bool // the limit is reached
	Title    string
	Text     string
	Path, Do string // a link to what helps
}

// warnFrom is the share of a limit from which pages warn of it.
const warnFrom = 90

// bannerOf is the warning for the account, of the limit that is nearest; nil without one. A
// page is shown without it if the store doesn't answer.
func bannerOf(v *visit) *banner {
	if v.account == nil {
		return nil
	}
	plan := v.plan()
	if plan.CreditsPerDay == 0 && plan.StoredBytes == 0 && plan.MovedBytes == 0 {
		return nil
	}
	s, err := v.cfg.Reports.Standing(v.req.Context(), v.account.ID, plan, time.Now())
	if err != nil {
		return nil
	}
	return warning(&s)
}

// warning is about the limit of which the largest share is used.
func warning(s *report.Standing) *banner {
	nextMonth := s.Month.AddDate(0, 1, 0)
	var nearest *banner
	share := 0.0
	for _, w := range []struct {
		share report.Share
		b     banner
	}{
		{s.Credits, banner{Title: "daily credits", Text: fmt.Sprintf("They reset at %s.", when(s.ResetsAt)), Path: "/usage", Do: "Show usage"}},
		{s.Stored, banner{Title: "storage", Text: "Unpin files to free space.", Path: "/files", Do: "Show files"}},
		{s.Moved, banner{Title: "storage transfer this month", Text: fmt.Sprintf("It resets at %s.", when(nextMonth)), Path: "/billing", Do: "Show plan"}},
	} {
		if p := w.share.Percent(); p >= warnFrom && p > share {
			nearest, share = &w.b, p
			nearest.say(w.share)
		}
	}
	return nearest
}

// say writes what is used of the limit.
func (b *banner) say(s report.Share) {
	b.Full = s.Used >= s.Limit
	if b.Full {
		b.Title, b.Text = "You have used all of your "+b.Title+".", "Requests that need more are refused. "+b.Text
		return
	}
	b.Title = fmt.Sprintf("You have used %s of your %s.", percent(s.Used, s.Limit), b.Title)
}
