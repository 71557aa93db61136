package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/auth"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/operatoralert"
)

// problems finds what is wrong with a server.
type problems struct {
	server *Server
	host   string
	calls  []callCount // of the last minutes
}

// now lists what is wrong.
func (p *problems) now(now time.Time) []operatoralert.Problem {
	s := p.server
	return slices.Concat(networkProblems(s.networks), s.accounts.problems(), p.disk(), s.certificateProblems(now), p.errorRate(now))
}

// networkProblems are networks that can't be used, and nodes that are not used.
func networkProblems(ns *networks) (list []operatoralert.Problem) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for name, c := range ns.chainOf {
		if err := c.Ready(); err != nil {
			list = append(list, operatoralert.Problem{Kind: "network_down", Subject: name, Summary: "The network " + name + " can't be used" + because(nodegate.AsError(err).Msg) + "."})
		}
	}
	for name, r := range ns.remotes {
		list = append(list, remoteProblems(name, r)...)
	}
	return list
}

func remoteProblems(name string, r *remote) (list []operatoralert.Problem) {
	if r.pool.Ready() != nil {
		list = append(list, operatoralert.Problem{Kind: "network_down", Subject: name, Summary: "No node of the network " + name + " can be used."})
	}
	for _, n := range r.pool.Status() {
		if !n.Healthy && !n.Cordoned {
			list = append(list, operatoralert.Problem{ // n.Why may hold addresses and text that the node chose
				Kind: "node_down", Subject: name + "/" + n.Name, Summary: "The node " + n.Name + " of the network " + name + " is not used" + because(string(n.Cause)) + ".",
			})
		}
	}
	return list
}

// because adds a reason, if there is one.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(why, ".")
}

// problems are those of the account store.
func (a *accounts) problems() []operatoralert.Problem {
	if auth.Reaches(a.auth) {
		return nil
	}
	return []operatoralert.Problem{{Kind: "store_unreachable", Summary: "The account store can't be reached. Known API keys keep working for five minutes."}}
}

// lowDisk is how many times the reserve has to be free.
const lowDisk = 2

// disk has the host as its subject: each server has a disk of its own.
func (p *problems) disk() []operatoralert.Problem {
	reserve := reserveOf(p.server.cfg)
	free, err := disk.Free(p.server.cfg.Data)
	if err != nil || free >= lowDisk*reserve {
		return nil
	}
	return []operatoralert.Problem{{
		Kind: "disk_low", Subject: p.host, Summary: fmt.Sprintf("The disk of the data folder has %d MiB free. Below %d MiB nothing is written.", free>>20, reserve>>20),
	}}
}

func (s *Server) certificateProblems(now time.Time) (list []operatoralert.Problem) {
	s.expires.Range(func(listener, ends any) bool {
		if end := ends.(time.Time); end.Sub(now) < s.cfg.Alerts.Certificate {
			list = append(list, operatoralert.Problem{
				Kind: "certificate_expiring", Subject: listener.(string), Summary: fmt.Sprintf("The certificate of the %s listener expires on %s.", listener, end.UTC().Format(time.RFC1123)),
			})
		}
		return true
	})
	return list
}

// callCount is how many calls there were until a time.
type callCount struct {
	at          time.Time
	all, failed float64
}

// The error rate is that of the last minutes, if there were enough calls.
const (
	rateWindow = 5 * time.Minute
	rateCalls  = 20
)

func (p *problems) errorRate(now time.Time) []operatoralert.Problem {
	all, failed := obs.Calls(p.server.metrics, p.server.networks.isEmbedded)
	p.calls = append(p.calls, callCount{now, all, failed})
	for len(p.calls) > 1 && now.Sub(p.calls[1].at) >= rateWindow {
		p.calls = p.calls[1:]
	}
	first, limit := p.calls[0], p.server.cfg.Alerts.ErrorRate
	calls, faults := all-first.all, failed-first.failed
	if limit == 0 || calls < rateCalls || 100*faults < float64(limit)*calls {
		return nil
	}
	return []operatoralert.Problem{{Kind: "error_rate", Summary: fmt.Sprintf("%.0f%% of recent calls failed, not counting client errors.", 100*faults/calls)}}
}
