package main

import (
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/bench/load"
	"github.com/nodegate/nodegate/internal/method"
)

const (
	connections = 4
	warmUp      = time.Second

	// Usage is written every 5 seconds, so these are about three times.
	usageRate = 2000 // requests a second
	usageTime = 15 * time.Second
)

// callBody is a request without parameters.
func callBody(name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":[]}`, name)
}

// requestFigures are the latency and the processor time of requests, with each key in turn.
// No usage is written meanwhile.
func requestFigures(s serving, keys []string, lasts time.Duration) (list []figure, err error) {
	s.flush, s.abandon = time.Minute, true
	err = s.with(func(p *started) error {
		r, err := p.requests(keys, load.Options{Measure: lasts})
		if err != nil {
			return err
		}
		list = []figure{
			{"p50 of a request", inSeconds, r.Latency.Quantile(0.5).Seconds()},
			{"p99 of a request", inSeconds, r.Latency.Quantile(0.99).Seconds()},
			{"CPU of a request", inSeconds, cpuOfEach(r)},
		}
		return nil
	})
	return list, err
}

// writtenFigure is the processor time of requests at a moderate rate, with the usage that is
// written for them.
func writtenFigure(s serving, keys []string) (list []figure, err error) {
	err = s.with(func(p *started) error {
		r, err := p.requests(keys, load.Options{Measure: usageTime, Rate: usageRate})
		if err != nil {
			return err
		}
		list = []figure{{"CPU of a request, usage written", inSeconds, cpuOfEach(r)}}
		return nil
	})
	return list, err
}

// requests sends requests with each key in turn.
func (p *started) requests(keys []string, o load.Options) (*load.Result, error) {
	targets := make([]*url.URL, len(keys))
	for i, key := range keys {
		u, err := url.Parse(p.RPC + "/devnet/v3/" + key)
		if err != nil {
			return nil, err
		}
		targets[i] = u
	}
	o.Conns, o.WarmUp, o.Sequence, o.CPU = connections, warmUp, new(atomic.Uint64), p.Usage().CPU
	r, err := load.RunOver(targets, load.NewBody(callBody(method.EthBlockNumber)), o)
	if err != nil {
		return nil, err
	}
	if r.Errors > 0 || r.Latency.Count() == 0 {
		return nil, fmt.Errorf("%d requests failed: %s", r.Errors, r.FirstError)
	}
	return r, nil
}

func cpuOfEach(r *load.Result) float64 { return r.CPU.Seconds() / float64(r.Latency.Count()) }

// callOnce sends one call on a connection and expects a result.
func callOnce(c *load.Conn, body string) error {
	answer, err := c.Do([]byte(body))
	if err != nil {
		return err
	}
	if load.IsError(answer) {
		return errors.New(string(answer))
	}
	return nil
}
