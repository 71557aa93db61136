package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nodegate/nodegate"
)

// usageCmd prints what an account used.
type usageCmd struct {
	ofAccount
	Key  string `placeholder:"ID" help:"One key only, by its id."`
	From string `default:"24h" placeholder:"TIME" help:"Start of the period: a duration before now like 24h, or a time like 2030-01-31T08:00:00Z. The default is 24h."`
	To   string `default:"0s" placeholder:"TIME" help:"End of the period, in the same forms. The default is now."`
	By   string `enum:",minute,hour,day" default:"" placeholder:"minute|hour|day" help:"Print a line for each minute, hour or day; otherwise one for the whole time."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run reads the rows, sums them up and prints them.
func (cmd *usageCmd) Run(a *app) error {
	q, err := cmd.query(time.Now())
	if err != nil {
		return err
	}
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		q.AccountID, q.KeyID = account.ID, cmd.Key
		if cmd.Key != "" {
			if _, err := c.Accounts.Key(a.ctx, account.ID, cmd.Key); err != nil {
				return noKey(err, account, cmd.Key)
			}
		}
		rows, err := c.Store.Usage(a.ctx, q)
		if err != nil {
			return err
		}
		return cmd.print(a, q, rows)
	})
}

// query turns the flags into a question.
//
// Returns InvalidInput for times that can't be used.
func (cmd *usageCmd) query(now time.Time) (q nodegate.UsageQuery, err error) {
	if q.From, err = readTime("--from", cmd.From, now); err != nil {
		return q, err
	}
	if q.To, err = readTime("--to", cmd.To, now); err != nil {
		return q, err
	}
	if !q.From.Before(q.To) {
		return q, invalid("--from must be before --to")
	}
	q.By = cmd.resolution(now.Sub(q.From), q.To.Sub(q.From))
	if kept := q.By.Kept(); kept > 0 && now.Sub(q.From) > kept {
		return q, invalid(fmt.Sprintf("usage by %s is kept for %v: use a later --from or a longer --by", cmd.By, kept))
	}
	q.From = q.By.Start(q.From) // a span is counted whole
	return q, nil
}

// finely is up to how long a time is summed from minutes, where no --by is given.
const finely = 3 * time.Hour

// resolution is what was asked for, or the finest that is still kept and that
// doesn't take too many rows to sum up.
func (cmd *usageCmd) resolution(ago, span time.Duration) nodegate.Resolution {
	switch {
	case cmd.By == "minute", cmd.By == "" && span <= finely && ago < nodegate.ByMinute.Kept():
		return nodegate.ByMinute
	case cmd.By == "hour", cmd.By == "" && ago < nodegate.ByHour.Kept():
		return nodegate.ByHour
	}
	return nodegate.ByDay
}

// readTime takes a time ago or a point of time.
func readTime(flag, text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, invalid(flag + " must be a duration like 24h or a time like 2030-01-31T08:00:00Z")
	}
	return t, nil
}

// usageLine is what the rows with the same words sum up to.
type usageLine struct {
	At       time.Time `json:"at,omitzero"`
	Network  string    `json:"network,omitempty"`
	Method   string    `json:"method,omitempty"`
	Outcome  string    `json:"outcome,omitempty"`
	Requests int64     `json:"requests"`
	Credits  int64     `json:"credits"`
	Errors   int64     `json:"errors"`
	BytesIn  int64     `json:"bytes_in"`
	BytesOut int64     `json:"bytes_out"`
	P50      float64   `json:"p50_ms"`
	P95      float64   `json:"p95_ms"`
	P99      float64   `json:"p99_ms"`

	sum nodegate.UsageSum
}

// view fills in the figures.
func (l *usageLine) view() *usageLine {
	l.Requests, l.Credits, l.Errors, l.BytesIn, l.BytesOut = l.sum.Requests, l.sum.Credits, l.sum.Errors, l.sum.BytesIn, l.sum.BytesOut
	p50, p95, p99 := l.sum.Percentiles()
	l.P50, l.P95, l.P99 = milliseconds(p50), milliseconds(p95), milliseconds(p99)
	return l
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// sumUsage sums rows up by network, method and outcome, and by time where it is
// asked for. total is over all of them.
func sumUsage(rows []nodegate.Usage, byTime bool) (lines []*usageLine, total usageLine) {
	type words struct {
		at                       int64
		network, method, outcome string
	}
	sums := map[words]*usageLine{}
	for i := range rows {
		u := &rows[i]
		w := words{network: u.Network, method: u.Method, outcome: u.Outcome}
		line := &usageLine{Network: u.Network, Method: u.Method, Outcome: u.Outcome}
		if byTime {
			w.at, line.At = u.At.UnixMicro(), u.At
		}
		if sums[w] == nil {
			sums[w] = line
			lines = append(lines, line)
		}
		sums[w].sum.AddRow(u)
		total.sum.AddRow(u)
	}
	slices.SortFunc(lines, func(a, b *usageLine) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Network, b.Network), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Outcome, b.Outcome))
	})
	return lines, total
}

// usageView is the whole answer in JSON.
type usageView struct {
	Account string       `json:"account"`
	Key     string       `json:"key,omitempty"`
	From    time.Time    `json:"from"`
	To      time.Time    `json:"to"`
	By      string       `json:"by,omitempty"`
	Rows    []*usageLine `json:"rows"`
	Total   *usageLine   `json:"total"`
}

func (cmd *usageCmd) print(a *app, q nodegate.UsageQuery, rows []nodegate.Usage) error {
	lines, total := sumUsage(rows, cmd.By != "")
	if cmd.JSON {
		v := usageView{Account: q.AccountID, Key: q.KeyID, From: q.From.UTC(), To: q.To.UTC().Truncate(time.Microsecond), By: cmd.By, Rows: []*usageLine{}, Total: total.view()}
		for _, l := range lines {
			v.Rows = append(v.Rows, l.view())
		}
		return writeJSON(a.stdout, v)
	}
	head := newTable(a.stdout)
	head.row("from", at(q.From))
	head.row("to", at(q.To))
	t := newTable(a.stdout)
	t.row(cmd.cells("AT", "NETWORK", "METHOD", "OUTCOME", "REQUESTS", "CREDITS", "FAILED", "P50", "P95", "P99")...)
	for _, l := range lines {
		t.row(cmd.cells(append([]string{at(l.At), l.Network, l.Method, l.Outcome}, l.figures()...)...)...)
	}
	t.row(cmd.cells(append([]string{"total", "total", "", ""}, total.figures()...)...)...)
	return errors.Join(head.flush(), t.flush())
}

// cells leaves the time out where all lines have the same.
func (cmd *usageCmd) cells(all ...string) []string {
	if cmd.By == "" {
		return all[1:]
	}
	return all
}

func (l *usageLine) figures() []string {
	list := []string{strconv.FormatInt(l.sum.Requests, 10), strconv.FormatInt(l.sum.Credits, 10), strconv.FormatInt(l.sum.Errors, 10)}
	p50, p95, p99 := l.sum.Percentiles()
	for _, d := range []time.Duration{p50, p95, p99} {
		list = append(list, d.Round(10*time.Microsecond).String())
	}
	return list
}
