package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// demoCmd are commands for newcomers.
type demoCmd struct {
	Traffic demoTraffic `cmd:"" help:"Send sample requests to the running server to fill the dashboard's charts. They only read, and cost the account credits."`
}

type demoTraffic struct {
	ofAccount
	For     time.Duration `default:"3m" placeholder:"TIME" help:"How long. The default is 3m."`
	Rate    int           `default:"20" placeholder:"N" help:"Requests a second: 20 by default, at most 1000."`
	Network string        `placeholder:"NAME" help:"Call this network only."`
}

// Run sends the requests with a key of their own, which is revoked at the end.
func (cmd *demoTraffic) Run(a *app) error {
	if cmd.For <= 0 || cmd.Rate < 1 || cmd.Rate > 1000 {
		return invalid("--for must be a duration like 3m, and --rate a number from 1 to 1000")
	}
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		status, _, err := askStatus(a, c.cfg)
		if err != nil {
			return err
		}
		networks, err := cmd.networks(c.cfg, status)
		if err != nil {
			return err
		}
		client, err := demoClient(c.cfg.TLS.Cert)
		if err != nil {
			return err
		}
		key, err := c.Accounts.CreateKey(a.ctx, c.actor, account.ID, "demo traffic", nodegate.KeySettings{})
		if err != nil {
			return err
		}
		// An interrupt ends the requests, not what comes after them.
		ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		d := &demo{base: status.Listeners.RPC, networks: networks, key: key.Value, client: client, counts: map[string]int{}}
		fmt.Fprintf(a.stderr, "Sending %d requests a second to %s for %v, for the account %s. Press Ctrl-C to stop.\n", cmd.Rate, status.Listeners.RPC, cmd.For, safe(account.Email))
		err = d.run(ctx, cmd.For, cmd.Rate)
		return errors.Join(err, c.Accounts.RevokeKey(a.ctx, c.actor, account.ID, key.Key.ID), d.print(a.stdout))
	})
}

// networks are those of the server that the requests go to.
func (cmd *demoTraffic) networks(cfg *config.Config, s *shownStatus) (names []string, err error) {
	for _, n := range s.Networks {
		if cmd.Network == "" || cmd.Network == n.Name {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return nil, notFound(fmt.Sprintf("there is no network %q; there are %s", cmd.Network, networkNames(cfg)))
	}
	return names, nil
}

// demo sends requests and counts what came of them.
type demo struct {
	base     string
	networks []string
	key      string
	client   *http.Client
	counts   map[string]int // by outcome
	sent     int
}

// run sends until the time is over or ctx ends. Requests follow each other, so that a slow
// server gets fewer of them.
func (d *demo) run(ctx context.Context, length time.Duration, rate int) error {
	if err := d.awaitKey(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for requests := demoRequests(); ; d.sent++ {
		err := d.send(ctx, d.networks[d.sent%len(d.networks)], requests[d.sent/len(d.networks)%len(requests)])
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// keyTime is how long a server may take to know a new key; it follows within a second.
const keyTime = 30 * time.Second

// awaitKey asks until the server knows the key.
func (d *demo) awaitKey(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keyTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		status, _, err := d.post(ctx, d.networks[0], demoRequest)
		switch {
		case err != nil:
			return err
		case status != http.StatusUnauthorized:
			return nil
		}
		select {
		case <-ctx.Done():
			return &nodegate.Error{Code: nodegate.Timeout, Msg: "the server doesn't know the new key: is it the server of this data folder? Use --data or --config as the server does", Err: ctx.Err()}
		case <-tick.C:
		}
	}
}

// print sums up.
func (d *demo) print(w io.Writer) error {
	var outcomes []string
	for name, n := range d.counts {
		outcomes = append(outcomes, fmt.Sprintf("%d %s", n, name))
	}
	slices.Sort(outcomes)
	_, err := fmt.Fprintf(w, "Sent %d requests: %s. The dashboard shows them within a minute.\n", d.sent, strings.Join(outcomes, ", "))
	return err
}
