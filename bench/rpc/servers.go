package main

import (
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/bench/chainfile"
	"github.com/nodegate/nodegate/bench/child"
)

// servers are the two processes.
type servers struct{ geth, nodegate *child.Process }

// startServers imports the chain into both at the same time.
func startServers(files chainfile.Files, temp string) (*servers, error) {
	s := &servers{}
	var gethErr, nodegateErr error
	var both sync.WaitGroup
	both.Go(func() { s.geth, gethErr = startServer("geth", flagsFor(files, temp, "geth")) })
	both.Go(func() { s.nodegate, nodegateErr = startServer("nodegate", flagsFor(files, temp, "nodegate")) })
	both.Wait()
	if err := errors.Join(gethErr, nodegateErr); err != nil {
		return nil, errors.Join(err, s.close())
	}
	progress("imported in %.1f s (geth) and %.1f s (nodegate)", s.geth.StartTime.Seconds(), s.nodegate.StartTime.Seconds())
	return s, nil
}

func flagsFor(files chainfile.Files, temp, name string) childFlags {
	return childFlags{genesis: files.Genesis, chain: files.Chain, data: filepath.Join(temp, name)}
}

func (s *servers) close() error { return errors.Join(s.geth.Close(), s.nodegate.Close()) }

// contestant is a way to a server that is measured.
type contestant struct {
	name     string
	url      *url.URL
	cpu      func() (time.Duration, error)
	sequence atomic.Uint64
}

// contestants lists Geth first, then nodegate over HTTP and, if wanted, over WebSocket.
func (s *servers) contestants(ws bool) ([]*contestant, error) {
	geth, err := newContestant("geth", s.geth, "")
	if err != nil {
		return nil, err
	}
	ours, err := newContestant("nodegate", s.nodegate, benchPath+s.nodegate.Key)
	if err != nil || !ws {
		return []*contestant{geth, ours}, err
	}
	socket, err := newContestant("nodegate-ws", s.nodegate, benchWSPath+s.nodegate.Key)
	if err != nil {
		return nil, err
	}
	socket.url.Scheme = "ws"
	// Both ways lead to the same memory of calls, so their numbers must not meet.
	socket.sequence.Store(1 << 60)
	return []*contestant{geth, ours, socket}, nil
}

func newContestant(name string, p *child.Process, path string) (*contestant, error) {
	u, err := url.Parse(p.RPC + path)
	return &contestant{name: name, url: u, cpu: p.CPU}, err
}
