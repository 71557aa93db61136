package server

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// Reload takes over what of a configuration can change while the service runs: the
// remote networks with all of theirs, the sizes of caches before embedded ones, the
// prices, and the default network. What can't
// is named in the log and waits for a restart. Either everything that can change
// does, or an error says why nothing did.
//
// Requests under way end with what they began with. A network that gets other nodes
// or another size of its cache goes on; with any other change it begins anew, and its
// WebSockets are closed with 1001.
func (s *Server) Reload(ctx context.Context, cfg *config.Config) error {
	s.reload.Lock()
	defer s.reload.Unlock()
	select {
	case <-s.closing:
		return nil
	default:
	}
	changes := config.Diff(s.live, cfg)
	if len(changes) == 0 {
		s.log.Info("configuration reloaded: nothing changed")
		return nil
	}
	p, err := s.plan(cfg)
	if err != nil {
		return err
	}
	p.await(ctx, s)
	s.apply(p, cfg)
	s.logChanges(changes, config.Diff(s.live, cfg))
	return nil
}

// plan is what a reload does, prepared as far as it can fail.
type plan struct {
	opened map[string]*remote         // new networks, and those with new settings
	moved  map[string]*config.Network // those that only get other nodes or another size
	gone   []string
}

// plan compares the remote networks that run with those that are wanted. A name
// that an embedded network has stays with it.
func (s *Server) plan(cfg *config.Config) (*plan, error) {
	p := &plan{opened: map[string]*remote{}, moved: map[string]*config.Network{}}
	wanted := map[string]bool{}
	for i := range cfg.Networks {
		n := &cfg.Networks[i]
		if len(n.Nodes) == 0 || s.isEmbedded(n.Name) {
			continue
		}
		wanted[n.Name] = true
		old, runs := s.remotes[n.Name]
		if runs && inPlace(&old.cfg, n) {
			p.moved[n.Name] = n
			continue
		}
		r, err := s.openRemote(n)
		if err != nil {
			for _, r := range p.opened {
				r.pool.Close()
			}
			return nil, err
		}
		p.opened[n.Name] = r
	}
	for name := range s.remotes {
		if !wanted[name] && !becomesEmbedded(cfg, name) {
			p.gone = append(p.gone, name)
		}
	}
	return p, nil
}

func (s *Server) isEmbedded(name string) bool {
	return slices.ContainsFunc(s.embedded, func(n nodegate.Network) bool { return n.Name == name })
}

// becomesEmbedded tells whether the network is to be one that only a start can open.
func becomesEmbedded(cfg *config.Config, name string) bool { return embeddedIn(cfg, name) != nil }

// embeddedIn finds an embedded network; nil where there is none of the name.
func embeddedIn(cfg *config.Config, name string) *config.Network {
	for i := range cfg.Networks {
		if n := &cfg.Networks[i]; n.Name == name && n.Embedded != nil {
			return n
		}
	}
	return nil
}

// inPlace tells whether a network can get its new settings while it runs: other
// nodes, or another size of its cache. Anything else makes a new one.
func inPlace(old, now *config.Network) bool {
	a, b := *old, *now
	if (a.Cache > 0) != (b.Cache > 0) {
		return false
	}
	a.Nodes, b.Nodes, a.Cache, b.Cache = nil, nil, 0, 0
	return reflect.DeepEqual(a, b)
}

// await lets the new networks find their nodes before clients are sent there.
func (p *plan) await(ctx context.Context, s *Server) {
	var all sync.WaitGroup
	for name, r := range p.opened {
		all.Go(func() {
			if err := r.awaitReady(ctx, s.closing); err != nil {
				s.log.Warn("network has no usable node yet", "network", name, "err", err)
			}
		})
	}
	all.Wait()
}

// apply can't fail.
func (s *Server) apply(p *plan, cfg *config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range p.moved {
		r := s.remotes[name]
		if !reflect.DeepEqual(r.cfg.Nodes, n.Nodes) {
			r.pool.Replace(nodesOf(n))
		}
		if r.cache != nil && r.cfg.Cache != n.Cache {
			r.cache.Resize(int64(n.Cache))
		}
		r.cfg = *n
	}
	for name, r := range p.opened {
		if old, runs := s.remotes[name]; runs {
			s.retire(old)
		}
		s.remotes[name] = r
	}
	for _, name := range p.gone {
		s.retire(s.remotes[name])
		delete(s.remotes, name)
	}
	s.live = s.effective(cfg)
	s.showNetworks(s.live)
	for name, front := range s.fronts {
		front.Resize(int64(embeddedIn(s.live, name).Cache))
	}
	costs := costsOf(s.live)
	s.costs.Store(&costs)
	s.edge.Serve(s.networks(), s.live.DefaultNetwork, costs)
}

// effective is the configuration that is in force: what a start gave, with what the
// reload could change.
func (s *Server) effective(cfg *config.Config) *config.Config {
	live := *s.live
	live.Costs = maps.Clone(cfg.Costs)
	live.Networks = slices.DeleteFunc(slices.Clone(s.live.Networks), func(n config.Network) bool { return len(n.Nodes) > 0 })
	for i := range live.Networks {
		n := &live.Networks[i]
		if wanted := embeddedIn(cfg, n.Name); n.Cache > 0 && wanted != nil && wanted.Cache > 0 {
			n.Cache = wanted.Cache
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.remotes)) {
		live.Networks = append(live.Networks, s.remotes[name].cfg)
	}
	if cfg.DefaultNetwork == "" || s.serves(cfg.DefaultNetwork) {
		live.DefaultNetwork = cfg.DefaultNetwork
	}
	return &live
}

func (s *Server) serves(name string) bool {
	_, remote := s.remotes[name]
	return remote || s.isEmbedded(name)
}

// logChanges says of each change whether it is in force now: what still differs from
// the file is not.
func (s *Server) logChanges(changes, left []config.Change) {
	waits := map[string]bool{}
	for _, c := range left {
		waits[c.Setting] = true
	}
	for _, c := range changes {
		if waits[c.Setting] {
			s.log.Warn("configuration change needs a restart", "change", c.String())
			continue
		}
		s.log.Info("configuration changed", "change", c.String())
	}
}
