package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// everybody is the usage of all accounts together.
const everybody = "*"

// History is how well a network has answered, by day.
type History struct {
	Network string
	Days    []DayHealth // the oldest first, also those without requests
}

// DayHealth are the requests of a day, and those that failed by a fault of the service.
// Requests that fail for what their sender did, or by the limits of a plan, are no fault.
type DayHealth struct {
	Day              time.Time
	Requests, Faults int64
}

// faults are the outcomes that the service is to blame for, timeouts on embedded networks
// excepted.
func faults() []nodegate.Code {
	return []nodegate.Code{nodegate.Internal, nodegate.NoNode, nodegate.Busy, nodegate.Timeout}
}

// History tells about all networks that had requests in the last days, by name.
func (r *Reports) History(ctx context.Context, days int, now time.Time) ([]History, error) {
	end := nodegate.ByDay.Start(now).AddDate(0, 0, 1)
	sums := nodegate.UsageSums{
		AccountID: everybody, From: end.AddDate(0, 0, -days), To: end, Resolution: nodegate.ByDay, Step: nodegate.ByDay.Length(), By: nodegate.ByNetwork,
	}
	all, err := r.cfg.Store.SumUsage(ctx, sums)
	if err != nil {
		return nil, err
	}
	h := histories{begin: sums.From, days: days, byName: map[string]*History{}}
	h.add(all, func(d *DayHealth) *int64 { return &d.Requests })
	for _, code := range faults() {
		sums.Outcome = code.String()
		failed, err := r.cfg.Store.SumUsage(ctx, sums)
		if err != nil {
			return nil, err
		}
		if code == nodegate.Timeout && r.cfg.Embedded != nil {
			failed = slices.DeleteFunc(failed, func(u nodegate.UsageSum) bool { return r.cfg.Embedded(u.Group) })
		}
		h.add(failed, func(d *DayHealth) *int64 { return &d.Faults })
	}
	return h.list(), nil
}

// histories are filled in query by query.
type histories struct {
	begin  time.Time
	days   int
	byName map[string]*History
}

func (h *histories) add(sums []nodegate.UsageSum, figure func(*DayHealth) *int64) {
	for i := range sums {
		day := int(sums[i].At.Sub(h.begin) / nodegate.ByDay.Length())
		if day >= 0 && day < h.days {
			*figure(&h.of(sums[i].Group).Days[day]) += sums[i].Requests
		}
	}
}

func (h *histories) of(network string) *History {
	found := h.byName[network]
	if found == nil {
		found = &History{Network: network, Days: make([]DayHealth, h.days)}
		for i := range found.Days {
			found.Days[i].Day = h.begin.AddDate(0, 0, i)
		}
		h.byName[network] = found
	}
	return found
}

func (h *histories) list() []History {
	var list []History
	for _, one := range h.byName {
		for i := range one.Days { // usage that came between two queries
			one.Days[i].Faults = min(one.Days[i].Faults, one.Days[i].Requests)
		}
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b History) int { return strings.Compare(a.Network, b.Network) })
	return list
}
