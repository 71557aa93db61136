package server

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
)

// storagePart is what /readyz/<part> calls the storage gateway.
const storagePart = "storage"

// ready is what balancers ask: is traffic welcome? Without a part it says what this
// server can't do that another one could. A network whose nodes are gone is not of that
// kind: another server has the same nodes, and the other networks would go with it.
func (s *Server) ready(part string) error {
	switch {
	case !s.serving.Load():
		return errors.New("not serving")
	case part == storagePart && s.storage.engine != nil:
		return s.storage.engine.Ready()
	case part != "":
		return s.networks.ready(part)
	}
	return errors.Join(s.listeners.ready(), s.accounts.auth.Ready(), s.networks.settled())
}

// ready is about one network.
func (ns *networks) ready(name string) error {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if c := ns.chainOf[name]; c != nil {
		return c.Ready()
	}
	r := ns.remotes[name]
	if r == nil {
		return &nodegate.Error{Code: nodegate.NotFound, Msg: "no network or service is named " + name}
	}
	if r.pool.Ready() != nil { // its reasons name the nodes: /nodes shows them to the operator
		return errors.New("not ready: network " + name + " has no node")
	}
	return nil
}

// settled is an error while a network of a server that has just started still looks for
// its first node: the servers that run already have theirs.
func (ns *networks) settled() error {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for name, r := range ns.remotes {
		if !r.settled.Load() {
			return errors.New("not ready: looking for nodes of network " + name)
		}
	}
	return nil
}

// awaitReady gives the nodes of a network a moment to be found. With or without one it
// has settled then.
func (r *remote) awaitReady(ctx context.Context, closing <-chan struct{}) error {
	defer r.settled.Store(true)
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := r.pool.Ready()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		case <-closing:
			return err
		}
	}
}
