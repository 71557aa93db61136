package dashboard

import (
	"fmt"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tokenbucket"
	"github.com/nodegate/nodegate/internal/web"
)

// Entries of the audit log are never deleted, so an account can't add them as fast as it
// sends forms.
const (
	changesAtOnce    = 60
	changesPerSecond = 1
)

// admitChange counts a change for the account of who makes it.
//
// Returns RateLimited.
func admitChange(v *visit) error {
	if !v.route.audited {
		return nil
	}
	wait, ok := v.changed.Take(v.account.ID, 1, tokenbucket.Rate{PerSecond: changesPerSecond, Burst: changesAtOnce})
	if ok {
		return nil
	}
	return &nodegate.Error{
		Op: "dashboard.change", Code: nodegate.RateLimited, RetryAfter: wait,
		Msg: fmt.Sprintf("too many changes: an account can make %d at once and then %d a second. Nothing was changed. Wait %d s, go back and try again",
			changesAtOnce, changesPerSecond, web.Seconds(wait)),
	}
}
