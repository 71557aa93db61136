// Command dashboard measures how long the dashboard's pages take, and how large they are,
// for an account with 100 keys and a month of usage: a million rows.
//
//	go run ./bench/dashboard
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/bench/visitor"
	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/server"
)

const (
	pageGoal  = 50 * time.Millisecond
	paintGoal = 40 << 10
	keys      = 100
	perHour   = 14 // rows of one key
)

func main() {
	days := flag.Int("days", 30, "of usage")
	rounds := flag.Int("rounds", 9, "of each page; the median counts")
	flag.Parse()
	if err := run(*days, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(days, rounds int) (err error) {
	folder, err := os.MkdirTemp("", "nodegate-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cfg := child.Config(folder)
	cfg.Limits.PagesPerSecond = 0 // pages are measured, not their limit
	srv, err := server.New(cfg, slog.New(slog.DiscardHandler), server.Build{Version: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close(context.Background())) }()
	if err := srv.Start(); err != nil {
		return err
	}
	rows, err := fill(srv, days)
	if err != nil {
		return err
	}
	v, err := visitor.SignIn(srv.Addresses().RPC, srv.First().Email, srv.First().Password)
	if err != nil {
		return err
	}
	fmt.Printf("\n%d keys, %d days, %d rows of usage by the hour, on SQLite; medians of %d\n\n", keys, days, rows, rounds)
	return measure(v, rounds)
}

// fill makes the keys and their usage. What each hour holds is added as the server adds it.
func fill(srv *server.Server, days int) (rows int, err error) {
	ctx, c := context.Background(), srv.Control()
	account := srv.FirstKey().Key.AccountID
	ids := []string{srv.FirstKey().Key.ID}
	for i := len(ids); i < keys; i++ {
		issued, err := c.Accounts.CreateKey(ctx, nodegate.Actor{Name: "bench"}, account, fmt.Sprintf("key %d", i), nodegate.KeySettings{})
		if err != nil {
			return 0, err
		}
		ids = append(ids, issued.Key.ID)
	}
	batch := &nodegate.UsageBatch{Server: "bench"}
	begin := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -days)
	for hour := range days * 24 {
		batch.Rows = appendHour(batch.Rows, account, ids, begin.Add(time.Duration(hour)*time.Hour))
		if len(batch.Rows) < 20_000 && hour < days*24-1 {
			continue
		}
		batch.Number++
		if err := c.Store.AddUsage(ctx, batch); err != nil {
			return 0, err
		}
		rows += len(batch.Rows)
		batch.Rows = batch.Rows[:0]
		fmt.Fprintf(os.Stderr, "\r%d rows", rows)
	}
	return rows, nil
}

func appendHour(list []nodegate.Usage, account string, ids []string, at time.Time) []nodegate.Usage {
	methods := []string{"eth_call", "eth_getBlockReceipts", "eth_blockNumber", "eth_getProof", "eth_estimateGas", "eth_getLogs", "eth_chainId"}
	for _, id := range ids {
		for i := range perHour {
			u := nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: account, KeyID: id, Network: "devnet", Method: methods[i/2], Outcome: nodegate.OutcomeOK}, At: at, Requests: 60, Credits: 4800}
			if i%2 == 1 {
				u.Outcome, u.Requests, u.Credits = nodegate.Reverted.String(), 2, 160
			}
			u.Latency[2+i%3] = u.Requests
			list = append(list, u)
		}
	}
	return list
}

// pages are those that show figures in all their forms, and every other page once.
func pages() (list []string) {
	for _, r := range []string{"15m", "1h", "6h", "24h", "7d", "30d"} {
		for _, by := range []string{"method", "network", "key", "outcome"} {
			list = append(list, "/usage?range="+r+"&by="+by)
		}
	}
	list = append(list, "/usage?range=30d&by=key&outcome=reverted", "/usage?range=7d&by=key&method=eth_call")
	for _, r := range dashboard.Routes() {
		if r.Method == http.MethodGet && !strings.Contains(r.Path, "{") && r.Path != "/login" && r.Path != "/signup" && r.Path != "/status" {
			list = append(list, r.Path)
		}
	}
	return list
}

var static = regexp.MustCompile(`/static/[^"#]+`)

// line is what was measured of a page.
type line struct {
	path  string
	took  time.Duration
	bytes int
}

// visit opens a page as often as asked, and sums up what a first visit loads.
func visit(v *visitor.Visitor, path string, rounds int) (line, error) {
	var times []time.Duration
	var body string
	var size int
	for range rounds {
		start := time.Now()
		var err error
		if body, size, err = v.Get(path); err != nil {
			return line{}, err
		}
		times = append(times, time.Since(start))
	}
	for _, file := range slices.Compact(slices.Sorted(slices.Values(static.FindAllString(body, -1)))) {
		_, more, err := v.Get(file)
		if err != nil {
			return line{}, err
		}
		size += more
	}
	slices.Sort(times)
	return line{path, times[len(times)/2], size}, nil
}

// isNoPage tells whether a path only leads to a page, or is none without parameters.
func isNoPage(err error) bool {
	var status *visitor.StatusError
	return errors.As(err, &status) && (status.Status == http.StatusSeeOther || status.Status == http.StatusNotFound)
}

// measure measures each page, and prints the slowest first.
func measure(v *visitor.Visitor, rounds int) error {
	var lines []line
	missed := 0
	for _, path := range pages() {
		l, err := visit(v, path, rounds)
		if isNoPage(err) {
			fmt.Println("left out,", err)
			continue
		}
		if err != nil {
			return err
		}
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.took, a.took) })
	for _, l := range lines {
		verdict := "met"
		if l.took > pageGoal || l.bytes > paintGoal {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("%-50s %8.1f ms %8.1f KB  %s\n", l.path, float64(l.took.Microseconds())/1000, float64(l.bytes)/1000, verdict)
	}
	fmt.Printf("\npages over 50 ms or 40 KB: %d of %d\n", missed, len(lines))
	return nil
}
