package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nodegate/nodegate/bench/load"
)

// socketFigures are what idle WebSockets take.
type socketFigures struct {
	Open   int     `json:"open"`
	Memory float64 `json:"memory_mb"` // of the whole process
	Each   float64 `json:"each_kb"`
}

// idleSockets opens WebSockets, asks on each once, and reads the memory when they
// have been idle for a while.
func idleSockets(ctx context.Context, count int, p *process) (*socketFigures, error) {
	progress("opening %d WebSockets", count)
	before, err := p.memory()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(strings.Replace(strings.Replace(p.url, "/v3/", "/ws/v3/", 1), "http://", "ws://", 1))
	if err != nil {
		return nil, err
	}
	var open []*load.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range count {
		c, err := load.Dial(u, 5*time.Minute)
		if err != nil {
			return nil, fmt.Errorf("after %d: %w", len(open), err)
		}
		open = append(open, c)
		if _, err := c.Do([]byte(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`)); err != nil {
			return nil, fmt.Errorf("after %d: %w", len(open), err)
		}
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(2 * settle):
	}
	after, err := p.memory()
	return &socketFigures{Open: len(open), Memory: after, Each: (after - before) * 1e6 / 1024 / float64(count)}, err
}
