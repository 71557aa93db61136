// Package load drives a JSON-RPC server from raw sockets with prebuilt requests, so
// that it takes little of the processor that it shares with the server.
//
// Without a rate it is a closed loop: each connection has one request in progress and
// sends the next as soon as the answer is there. Latency is therefore that of a server
// kept busy by as many clients as there are connections. With a rate each connection
// has a timetable, and latency counts from when a request was due: a server that falls
// behind can't hide it by slowing its clients down.
package load

import (
	"bytes"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how to drive.
type Options struct {
	Conns   int
	Rate    float64 // requests a second over all connections; 0 is as many as can be
	WarmUp  time.Duration
	Measure time.Duration
	// Sequence numbers the requests of bodies with Unique in them. It is shared by
	// all runs against a server.
	Sequence *atomic.Uint64
	// CPU reads the processor time that the server has used so far.
	CPU func() (time.Duration, error)
}

// Result is what was seen while measuring.
type Result struct {
	Elapsed    time.Duration
	CPU        time.Duration
	Latency    Histogram
	Bytes      uint64
	Errors     uint64 // answers that are JSON-RPC errors
	FirstError string
}

// patience is how much longer than planned a run may take.
const patience = 30 * time.Second

// The phases of a run.
const (
	warming = iota
	measuring
	stopped
)

// request is a body as it goes over the wire.
type request struct {
	wire []byte
	body Body
}

// Run sends the bodies round robin over all connections.
//
// Answers that are JSON-RPC errors are counted; a connection that fails, or an HTTP
// status that is not 200, ends the run with an error.
func Run(target *url.URL, bodies []Body, o Options) (*Result, error) {
	t, err := transportOf(target)
	if err != nil {
		return nil, err
	}
	requests := make([]request, len(bodies))
	for i, b := range bodies {
		requests[i] = request{t.wrap(b.text), b}
	}
	workers, err := dialAll(target, requests, o)
	if err != nil {
		return nil, err
	}
	return drive(workers, o)
}

// RunOver is Run with one body that is sent to many addresses of the same HTTP server in turn.
func RunOver(targets []*url.URL, body Body, o Options) (*Result, error) {
	requests := make([]request, len(targets))
	for i, target := range targets {
		requests[i] = request{httpTransport{target}.wrap(body.text), body}
	}
	workers, err := dialAll(targets[0], requests, o)
	if err != nil {
		return nil, err
	}
	return drive(workers, o)
}

func dialAll(target *url.URL, requests []request, o Options) ([]*worker, error) {
	var workers []*worker
	for k := range o.Conns {
		conn, err := Dial(target, o.WarmUp+o.Measure+patience)
		if err != nil {
			for _, w := range workers {
				w.conn.Close()
			}
			return nil, err
		}
		workers = append(workers, &worker{
			conn: conn, requests: requests, next: k * len(requests) / o.Conns, sequence: o.Sequence, pace: paceOf(k, o),
		})
	}
	return workers, nil
}

// drive runs the workers through the phases and adds up what they saw.
func drive(workers []*worker, o Options) (*Result, error) {
	var phase atomic.Int32
	var done sync.WaitGroup
	for _, w := range workers {
		done.Go(func() { w.err = w.loop(&phase) })
	}
	time.Sleep(o.WarmUp)
	total, err := measure(&phase, o)
	phase.Store(stopped)
	done.Wait()
	for _, w := range workers {
		err = errors.Join(err, w.err)
		total.add(&w.seen)
	}
	return total, err
}

func measure(phase *atomic.Int32, o Options) (*Result, error) {
	before, err := o.CPU()
	if err != nil {
		return &Result{}, err
	}
	start := time.Now()
	phase.Store(measuring)
	time.Sleep(o.Measure)
	phase.Store(stopped)
	r := &Result{Elapsed: time.Since(start)}
	after, err := o.CPU()
	r.CPU = after - before
	return r, err
}

func (r *Result) add(one *Result) {
	r.Latency.Merge(&one.Latency)
	r.Bytes += one.Bytes
	r.Errors += one.Errors
	if r.FirstError == "" {
		r.FirstError = one.FirstError
	}
}

// worker is one connection's loop.
type worker struct {
	conn     *Conn
	requests []request
	next     int
	sequence *atomic.Uint64
	pace     pace
	wire     []byte
	seen     Result
	err      error
}

func (w *worker) loop(phase *atomic.Int32) error {
	defer w.conn.Close()
	for phase.Load() != stopped {
		start := w.pace.wait()
		answer, err := w.conn.exchange(w.take())
		if err != nil {
			return err
		}
		if phase.Load() == measuring {
			w.count(time.Since(start), answer)
		}
	}
	return nil
}

// take returns the next request's bytes. A numbered one is copied first: the
// connections share the prebuilt bytes.
func (w *worker) take() []byte {
	r := &w.requests[w.next]
	if w.next++; w.next == len(w.requests) {
		w.next = 0
	}
	if r.body.unique == 0 {
		return r.wire
	}
	w.wire = append(w.wire[:0], r.wire...)
	r.body.number(w.wire, w.sequence.Add(1))
	return w.wire
}

func (w *worker) count(d time.Duration, answer []byte) {
	w.seen.Latency.Add(d)
	w.seen.Bytes += uint64(len(answer))
	if IsError(answer) {
		w.seen.Errors++
		if w.seen.FirstError == "" {
			w.seen.FirstError = string(answer[:min(len(answer), 300)])
		}
	}
}

// IsError looks for a JSON-RPC error where its member stands, near the beginning:
// results may be long and are not searched.
func IsError(answer []byte) bool {
	return bytes.Contains(answer[:min(len(answer), 64)], []byte(`"error":`))
}
