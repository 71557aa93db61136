package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/bench/load"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/server"
)

const (
	socketAccounts = 10 // that share the sockets
	socketBlocks   = 10 // whose events are measured
	socketLimit    = 5 * time.Minute
	blockPause     = 100 * time.Millisecond
)

// measureSockets measures WebSockets that each have a subscription to new blocks.
func measureSockets(ctx context.Context, o *options, size int) (list []figure, err error) {
	if err := needFiles(size); err != nil {
		return nil, err
	}
	err = inFolder(o, func(dir string) error {
		s := serving{data: filepath.Join(dir, "data"), flush: usualFlush, sockets: true}
		f, err := fillStore(ctx, s, func(c *server.Control, f *filled) error { return f.addMembers(ctx, c, socketAccounts, 1) })
		if err != nil {
			return err
		}
		if err := s.firstStart(); err != nil {
			return err
		}
		return s.with(func(p *started) (err error) {
			list, err = socketFigures(ctx, p, f.keys, size)
			return err
		})
	})
	return list, err
}

// needFiles raises the limit of open files as far as this process may. The server has the same
// limit, and keeps an eighth of it free.
func needFiles(sockets int) error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	r.Cur = r.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	if need := uint64(sockets)*8/7 + 500; uint64(r.Cur) < need {
		return fmt.Errorf("a process may open %d files, and %d sockets need %d: raise the limit (ulimit -Hn), or measure fewer with -sockets", r.Cur, sockets, need)
	}
	return nil
}

// socketFigures mines blocks before there are sockets and with them. The difference is what the
// sockets cost.
func socketFigures(ctx context.Context, p *started, keys []string, size int) ([]figure, error) {
	m, err := newMiner(p, keys[0])
	if err != nil {
		return nil, err
	}
	defer m.conn.Close()
	alone, _, err := m.mine(ctx, func() error { return nil })
	if err != nil {
		return nil, err
	}
	before, err := p.settled()
	if err != nil {
		return nil, err
	}
	a, opening, err := open(ctx, p, keys, size)
	if err != nil {
		return nil, err
	}
	defer a.close()
	after, err := p.settled()
	if err != nil {
		return nil, err
	}
	with, times, err := m.mine(ctx, a.wait)
	if err != nil {
		return nil, err
	}
	slices.Sort(times)
	n := float64(size)
	return []figure{
		{"memory of the server", inBytes, after},
		{"memory of a socket", inBytes, (after - before) / n},
		{"CPU to open and subscribe", inSeconds, opening.Seconds() / n},
		{"CPU of an event", inSeconds, (with - alone).Seconds() / (n * socketBlocks)},
		{"from a block to the last socket", inSeconds, times[len(times)/2].Seconds()},
	}, nil
}

// miner makes blocks.
type miner struct {
	server *started
	conn   *load.Conn
}

func newMiner(p *started, key string) (*miner, error) {
	u, err := url.Parse(p.RPC + "/devnet/v3/" + key)
	if err != nil {
		return nil, err
	}
	c, err := load.Dial(u, socketLimit)
	return &miner{p, c}, err
}

// mine mines blocks, each when the one before has arrived. It returns the processor time of the
// server, and how long each took from the request to the arrival of its events.
func (m *miner) mine(ctx context.Context, arrived func() error) (cpu time.Duration, times []time.Duration, err error) {
	before, err := m.server.CPU()
	if err != nil {
		return 0, nil, err
	}
	for range socketBlocks {
		begin := time.Now()
		if err := errors.Join(ctx.Err(), callOnce(m.conn, callBody(method.EVMMine))); err != nil {
			return 0, nil, err
		}
		if err := arrived(); err != nil {
			return 0, nil, err
		}
		times = append(times, time.Since(begin))
		time.Sleep(blockPause)
	}
	after, err := m.server.CPU()
	return after - before, times, err
}

// open opens sockets with a subscription each, and returns the processor time of the server.
func open(ctx context.Context, p *started, keys []string, size int) (a *audience, cpu time.Duration, err error) {
	before, err := p.CPU()
	if err != nil {
		return nil, 0, err
	}
	a = newAudience(size)
	for n := range size {
		address := strings.Replace(p.RPC, "http://", "ws://", 1) + "/devnet/ws/v3/" + keys[n%len(keys)]
		if err := errors.Join(ctx.Err(), a.join(address)); err != nil {
			a.close()
			return nil, 0, fmt.Errorf("after %d sockets: %w", n, err)
		}
	}
	after, err := p.CPU()
	a.listen()
	return a, after - before, err
}
