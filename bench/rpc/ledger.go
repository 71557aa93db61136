package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/nodegate/nodegate/bench/chainfile"
	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/bench/nginx"
	"github.com/nodegate/nodegate/internal/config"
)

// The ledger's benchmark: a network of remote nodes with a ledger, beside the same network
// without one, nginx, the node itself, which is Geth, and the embedded chain.

// ledgerRows are the lookups that are measured.
var ledgerRows = regexp.MustCompile(`^eth_get(Transaction|BlockReceipts)`)

// The goals for the ledger's CPU of a request.
const (
	goalOfEmbedded  = 1.2 // of the embedded chain's, at most
	goalOfForwarded = 0.5 // of a forwarded call's, at most
)

// The networks of the gateway.
const (
	ledgerNetwork    = "ledger"
	forwardedNetwork = "forwarded"
)

// remoteConfig serves a node twice: with a ledger and as it is. Neither has a cache.
func remoteConfig(c childFlags) *config.Config {
	cfg := child.Config(c.data)
	cfg.Networks = nil
	for _, name := range []string{ledgerNetwork, forwardedNetwork} {
		n := config.Network{
			Name: name, Dialect: "spec", MaxLag: 5, MaxHeadAge: 30 * time.Second,
			Retry: config.Retry{Attempts: 3, Budget: 20}, Hedge: config.Hedge{Off: true},
			Nodes: []config.Node{{Name: "geth", URL: config.NodeURL(c.node), Role: "primary"}},
		}
		if name == ledgerNetwork {
			n.Ledger = config.Ledger{Blocks: config.UsualLedger, Backfill: 1000, Disk: 10 << 30}
		}
		cfg.Networks = append(cfg.Networks, n)
	}
	cfg.DefaultNetwork = ledgerNetwork
	if c.memory > 0 {
		cfg.Memory.Ledgers = config.Size(c.memory) << 20
	}
	return cfg
}

// ledgerServers are the processes; nginx is nil where it is not installed.
type ledgerServers struct {
	*servers
	remote *child.Process
	nginx  *nginx.Server
}

func (s *ledgerServers) close() error {
	return errors.Join(s.remote.Close(), s.nginx.Close(), s.servers.close())
}

func startLedger(ctx context.Context, files chainfile.Files, temp string, blocks, memory int) (*ledgerServers, error) {
	first, err := startServers(files, temp, "")
	if err != nil {
		return nil, err
	}
	s := &ledgerServers{servers: first}
	if s.nginx, err = nginx.Start(filepath.Join(temp, "nginx"), s.geth.RPC); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.nginx == nil {
		progress("nginx is not installed (apt-get install nginx): it is left out")
	}
	begin := time.Now()
	s.remote, err = startServer("remote", childFlags{data: filepath.Join(temp, "remote"), node: s.geth.RPC, memory: memory})
	if err == nil {
		err = awaitLedger(ctx, s.remote, blocks)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	progress("the ledger has %d blocks after %.1f s", blocks+1, time.Since(begin).Seconds())
	return s, nil
}

// awaitLedger waits until the ledger has the whole chain.
func awaitLedger(ctx context.Context, p *child.Process, blocks int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		var states map[string]struct{ Blocks int }
		if res, err := http.Get(p.Admin + "/ledgers"); err == nil {
			err := json.NewDecoder(res.Body).Decode(&states)
			_ = res.Body.Close()
			if err == nil && states[ledgerNetwork].Blocks > blocks {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the ledger has %d of %d blocks: %w", states[ledgerNetwork].Blocks, blocks+1, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// contestants lists Geth first, whose answers the others are compared with.
func (s *ledgerServers) contestants() ([]*contestant, error) {
	list, err := s.current(false)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{forwardedNetwork, ledgerNetwork} {
		c, err := newContestant(name, s.remote, "/"+name+"/v3/"+s.remote.Key)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if s.nginx == nil {
		return list, nil
	}
	c, err := newContestant("nginx", &child.Process{Hello: child.Hello{RPC: s.nginx.URL}}, "")
	if err == nil {
		c.cpu = s.nginx.CPU
	}
	return append(list, c), err
}

// measureLedger measures the ledger's lookups.
func measureLedger(ctx context.Context, o *options, files chainfile.Files, temp string, list []workload, blocks int) (rows []row, err error) {
	s, err := startLedger(ctx, files, temp, blocks, o.memory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	contestants, err := s.contestants()
	if err != nil {
		return nil, err
	}
	if err := checkAll(contestants, list); err != nil {
		return nil, err
	}
	return measureRows(ctx, o, contestants, list, s.remote, contestants[3])
}

// printLedger compares the ledger with the others.
func printLedger(w io.Writer, rows []row, o *options) {
	fmt.Fprintf(w, "\n%d connections, medians of %d rounds of %s each; CPU is the server's own for one request, in µs: a forwarded call takes the node's too\n\n", o.conns, o.rounds, o.duration)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%*s\tbytes\tgeth rps\tCPU\tnginx rps\tCPU\tforwarded rps\tCPU\tembedded rps\tCPU\tledger rps\tp50\tp99\tCPU\tof embedded\tgoal\t\tof forwarded\tgoal\t\t\n", -nameWidth, "method")
	for _, row := range rows {
		l := row.Figures[ledgerNetwork]
		fmt.Fprintf(t, "%*s\t%.0f\t", -nameWidth, row.Name, l.Bytes)
		for _, name := range []string{"geth", "nginx", forwardedNetwork, "nodegate"} {
			fmt.Fprintf(t, "%.0f\t%.1f\t", row.Figures[name].Rate, row.Figures[name].CPU)
		}
		fmt.Fprintf(t, "%.0f\t%.0f\t%.0f\t%.1f\t%s\t%s\t\n", l.Rate, l.P50, l.P99, l.CPU,
			atMost(l.CPU, row.Figures["nodegate"].CPU, goalOfEmbedded), atMost(l.CPU, row.Figures[forwardedNetwork].CPU, goalOfForwarded))
	}
	_ = t.Flush()
	printErrors(w, rows)
}

// atMost prints three cells: the part, how much it may be, and whether it is.
func atMost(part, whole, most float64) string {
	mark := "met"
	if part > most*whole {
		mark = "MISSED"
	}
	return fmt.Sprintf("%.2fx\t%gx\t%s", part/max(whole, 1e-9), most, mark)
}
