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

// servers are the processes; before is nil unless another build is compared.
type servers struct{ geth, nodegate, before *child.Process }

// startServers imports the chain into all at the same time.
func startServers(files chainfile.Files, temp, before string) (*servers, error) {
	s := &servers{}
	var gethErr, nodegateErr, beforeErr error
	var both sync.WaitGroup
	if before != "" {
		both.Go(func() {
			s.before, beforeErr = child.StartProgram(before, flagsFor(files, temp, "before").args("nodegate")...)
		})
	}
	both.Go(func() { s.geth, gethErr = startServer("geth", flagsFor(files, temp, "geth")) })
	both.Go(func() { s.nodegate, nodegateErr = startServer("nodegate", flagsFor(files, temp, "nodegate")) })
	both.Wait()
	if err := errors.Join(gethErr, nodegateErr, beforeErr); err != nil {
		return nil, errors.Join(err, s.close())
	}
	progress("imported in %.1f s (geth) and %.1f s (nodegate)", s.geth.StartTime.Seconds(), s.nodegate.StartTime.Seconds())
	return s, nil
}

func flagsFor(files chainfile.Files, temp, name string) childFlags {
	return childFlags{genesis: files.Genesis, chain: files.Chain, data: filepath.Join(temp, name)}
}

func (s *servers) close() error {
	var errs []error
	for _, p := range []*child.Process{s.geth, s.nodegate, s.before} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// contestant is a way to a server that is measured.
type contestant struct {
	name     string
	url      *url.URL
	cpu      func() (time.Duration, error)
	sequence atomic.Uint64
}

// contestants lists Geth first, then nodegate over HTTP and, if wanted, over WebSocket;
// another build comes last.
func (s *servers) contestants(ws bool) ([]*contestant, error) {
	list, err := s.current(ws)
	if err != nil || s.before == nil {
		return list, err
	}
	before, err := newContestant(beforeName, s.before, benchPath+s.before.Key)
	return append(list, before), err
}

// beforeName is how the report calls another build.
const beforeName = "before"

// current lists Geth and this build.
func (s *servers) current(ws bool) ([]*contestant, error) {
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
