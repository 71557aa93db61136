package dashboard

import (
	"context"
	"sync"
	"time"

	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

const (
	statusDays  = 30
	statusFresh = 30 * time.Second // for which everybody gets the same page
)

// NetworkUp tells whether a network answers now.
type NetworkUp struct {
	Name string
	Up   bool
}

// statusBoard is what the public status page shows. Anybody may open the page, and it reads
// the usage of all accounts, so it is worked out now and then only.
type statusBoard struct {
	mu   sync.Mutex
	at   time.Time
	data *statusData
}

// statusData tells shares, never how many requests there are: that is the operator's.
type statusData struct {
	At       time.Time
	AllUp    bool
	NoPast   bool // the history can't be read
	Networks []networkHistory
}

type networkHistory struct {
	Name  string
	Up    bool
	Share string // of the requests that were answered; "" without any
	Days  []dayShown
}

type dayShown struct {
	Day   time.Time
	Share string
	Class string // "" without requests
}

func statusPage(v *visit) error {
	if v.cfg.Status == nil {
		return errNotHere
	}
	return v.show("status", v.status.current(v))
}

// current works the page out where it is old. Others wait meanwhile: it is theirs too, also
// without the history when the store fails, which is not tried again for each of them.
func (b *statusBoard) current(v *visit) *statusData {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.data != nil && time.Since(b.at) < statusFresh {
		return b.data
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.req.Context()), 10*time.Second)
	defer cancel()
	history, err := v.cfg.Reports.History(ctx, statusDays, time.Now())
	if err != nil {
		v.cfg.Log.Warn("can't read the history for the status page", "err", err)
	}
	b.data, b.at = joined(v.cfg.Status(), history), time.Now()
	b.data.NoPast = err != nil
	return b.data
}

// joined joins how networks are with how they were.
func joined(now []NetworkUp, history []report.History) *statusData {
	was := map[string]report.History{}
	for _, h := range history {
		was[h.Network] = h
	}
	d := &statusData{At: time.Now(), AllUp: true}
	for _, n := range now {
		d.AllUp = d.AllUp && n.Up
		d.Networks = append(d.Networks, historyOf(n, was[n.Name]))
	}
	return d
}

func historyOf(n NetworkUp, h report.History) networkHistory {
	shown := networkHistory{Name: n.Name, Up: n.Up}
	var requests, faults int64
	for _, d := range h.Days {
		requests, faults = requests+d.Requests, faults+d.Faults
		shown.Days = append(shown.Days, dayOf(d))
	}
	if requests > 0 {
		shown.Share = percent(requests-faults, requests)
	}
	return shown
}

// The shares of faults from which a day is amber and red.
const (
	amberFaults = 0.001
	redFaults   = 0.01
)

func dayOf(d report.DayHealth) dayShown {
	shown := dayShown{Day: d.Day}
	if d.Requests == 0 {
		return shown
	}
	shown.Share, shown.Class = percent(d.Requests-d.Faults, d.Requests), "good"
	switch share := float64(d.Faults) / float64(d.Requests); {
	case share >= redFaults:
		shown.Class = "bad"
	case share >= amberFaults:
		shown.Class = "warn"
	}
	return shown
}
