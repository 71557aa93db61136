package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/method"
)

// serving is how a server is started.
type serving struct {
	data    string
	flush   time.Duration // how often usage is written
	sockets bool          // thousands of connections come from one address
	abandon bool          // kill it at the end: nobody needs what it would still write
}

const (
	usualFlush = 5 * time.Second
	startTime  = 2 * time.Minute // a server that isn't ready by then never is
	settleTime = 3 * time.Second // after which memory is read
	starts     = 3               // of which the median counts
	planName   = "bench"
)

// config is the default with limits that nothing here reaches, and one that looks at them:
// the plan of the accounts.
func (s serving) config() *config.Config {
	cfg := child.Config(s.data)
	cfg.Usage.Flush = s.flush
	cfg.Plans[planName] = config.Plan{CreditsPerSecond: 1e9, Burst: 1e9, CreditsPerDay: 1e12}
	cfg.Limits.PagesPerSecond = 0
	cfg.Limits.SocketsPerAccount, cfg.Limits.SubsPerAccount, cfg.Limits.Sockets, cfg.Limits.Subscriptions = 1e6, 1e6, 1e6, 1e6
	cfg.Storage.Collect = 24 * time.Hour
	cfg.Networks[0].Namespaces = []string{method.SpaceEVM} // mines a block when asked to
	if s.sockets {
		cfg.TrustedProxies = []string{"127.0.0.1"} // any other address gets half of the connections at most
	}
	return cfg
}

func (s serving) args() []string {
	return []string{"-data", s.data, "-flush", s.flush.String(), "-sockets=" + strconv.FormatBool(s.sockets)}
}

// serveChild is a server in a process of its own.
func serveChild(args []string) error {
	var s serving
	f := flag.NewFlagSet(child.Command, flag.ExitOnError)
	f.StringVar(&s.data, "data", "", "data folder")
	f.DurationVar(&s.flush, "flush", usualFlush, "usage.flush")
	f.BoolVar(&s.sockets, "sockets", false, "accept many connections from one address")
	_ = f.Parse(args) // exits on an error
	return child.Serve(func(log *slog.Logger) (child.Server, error) { return child.Open(s.config(), log) })
}

// started is a server that is ready.
type started struct {
	*child.Process
	after time.Duration // the start of its process
}

// start starts a server and waits until it is ready.
func (s serving) start() (*started, error) {
	begin := time.Now()
	p, err := child.Start(s.args()...)
	if err != nil {
		return nil, err
	}
	for !isReady(p.Admin) {
		if time.Since(begin) > startTime {
			return nil, errors.Join(errors.New("the server is not ready"), p.Kill())
		}
		time.Sleep(2 * time.Millisecond)
	}
	return &started{p, time.Since(begin)}, nil
}

func isReady(admin string) bool {
	res, err := http.Get(admin + "/readyz")
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// with runs a server while something is done with it.
func (s serving) with(do func(*started) error) (err error) {
	p, err := s.start()
	if err != nil {
		return err
	}
	defer func() {
		if s.abandon {
			err = errors.Join(err, p.Kill())
		} else {
			err = errors.Join(err, p.Close())
		}
	}()
	return do(p)
}

// firstStart makes the chains of a new folder.
func (s serving) firstStart() error {
	if err := s.with(func(*started) error { return nil }); err != nil {
		return fmt.Errorf("first start: %w", err)
	}
	return nil
}

// startFigures are the time of a start that isn't the first, and the memory afterwards.
func (s serving) startFigures() ([]figure, error) {
	if err := s.firstStart(); err != nil {
		return nil, err
	}
	var times []time.Duration
	var memory float64
	for i := range starts {
		err := s.with(func(p *started) (err error) {
			times = append(times, p.after)
			if i == starts-1 {
				memory, err = p.settled()
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(times)
	return []figure{{"start until ready", inSeconds, times[starts/2].Seconds()}, {"memory after the start", inBytes, memory}}, nil
}

// settled is the memory of a server that was left alone for a while.
func (p *started) settled() (float64, error) {
	time.Sleep(settleTime)
	n, err := p.Usage().Memory()
	return float64(n), err
}
