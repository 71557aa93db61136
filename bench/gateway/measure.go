package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate/bench/load"
)

// workload is the request and what it must be answered with.
type workload struct {
	body   string
	size   int
	answer []byte
}

// wantedSize is a receipt of about 1.5 KB, with a few logs.
const wantedSize = 1500

// findReceipt takes the receipt of the chain that is nearest to the wanted size.
func findReceipt(node *process) (*workload, error) {
	best := &workload{}
	for block := range 64 {
		var hashes struct{ Transactions []string }
		result, err := ask(node.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x%x",false]}`, block))
		if err != nil {
			return nil, err
		}
		if string(result) == "null" {
			break
		}
		if err := json.Unmarshal(result, &hashes); err != nil {
			return nil, err
		}
		for _, hash := range hashes.Transactions {
			w := &workload{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":["%s"]}`, hash)}
			if w.answer, err = ask(node.url, w.body); err != nil {
				return nil, err
			}
			if w.size = len(w.answer); away(w.size) < away(best.size) {
				best = w
			}
		}
	}
	progress("a receipt of %d bytes", best.size)
	return best, nil
}

func away(size int) int { return max(size-wantedSize, wantedSize-size) }

// ask returns the result of one call.
func ask(to, body string) (json.RawMessage, error) {
	res, err := http.Post(to, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error != nil {
		return nil, fmt.Errorf("%s: %.300s", body, text)
	}
	return answer.Result, nil
}

// checkEqual makes sure that all contestants do the same work.
func checkEqual(list []*contestant, w *workload) error {
	for _, c := range list {
		for range 3 {
			answer, err := ask(c.url.String(), w.body)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if !bytes.Equal(answer, w.answer) {
				return fmt.Errorf("%s answers %s, the node %s", c.name, answer, w.answer)
			}
		}
	}
	return nil
}

// figures are one contestant's medians over all rounds.
type figures struct {
	Rate   float64 `json:"requests_per_second"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	CPU    float64 `json:"cpu_us_per_request"`
	Errors uint64  `json:"errors"`
}

const warmUp = 500 * time.Millisecond

// measureAll lets the contestants take turns, so that a busy minute of the machine
// falls on all of them. Each round begins with another one, so that none is always
// measured after the same. With peaks each gets half of what it can do.
func measureAll(ctx context.Context, o *options, list []*contestant, w *workload, peaks map[string]figures) (map[string]figures, error) {
	rounds := map[string][]*load.Result{}
	for i := range o.rounds {
		for k := range list {
			c := list[(i+k)%len(list)]
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			progress("round %d of %d: %s", i+1, o.rounds, c.name)
			r, err := load.Run(c.url, []load.Body{load.NewBody(w.body)}, load.Options{
				Conns: o.conns, Rate: peaks[c.name].Rate / 2, WarmUp: warmUp, Measure: o.duration, Sequence: &c.sequence, CPU: c.server.cpu,
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			rounds[c.name] = append(rounds[c.name], r)
		}
	}
	all := map[string]figures{}
	for name, results := range rounds {
		all[name] = summary(results)
	}
	return all, nil
}

func summary(rounds []*load.Result) (f figures) {
	median := func(figure func(*load.Result) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, figure(r))
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	count := func(r *load.Result) float64 { return float64(max(r.Latency.Count(), 1)) }
	f.Rate = median(func(r *load.Result) float64 { return count(r) / r.Elapsed.Seconds() })
	f.P50 = median(func(r *load.Result) float64 { return micros(r.Latency.Quantile(0.5)) })
	f.P99 = median(func(r *load.Result) float64 { return micros(r.Latency.Quantile(0.99)) })
	f.CPU = median(func(r *load.Result) float64 { return micros(r.CPU) / count(r) })
	for _, r := range rounds {
		f.Errors += r.Errors
	}
	return f
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// saveProfiles writes a CPU profile of each nodegate under each of its two loads.
func saveProfiles(o *options, node *process, list []*contestant, w *workload) error {
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return err
	}
	for _, c := range list {
		if c.server == node || c.server.admin == "" {
			continue
		}
		if err := saveProfile(o, c.server.admin, c, w); err != nil {
			return err
		}
	}
	return nil
}

func saveProfile(o *options, admin string, c *contestant, w *workload) error {
	done := make(chan error, 1)
	go func() {
		_, err := load.Run(c.url, []load.Body{load.NewBody(w.body)}, load.Options{
			Conns: o.conns, Measure: 4 * time.Second, Sequence: &c.sequence, CPU: c.server.cpu,
		})
		done <- err
	}()
	res, err := http.Get(admin + "/debug/pprof/profile?" + url.Values{"seconds": {"3"}}.Encode())
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.profile, c.name+".pprof"), text, 0o644)
}
