package server

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/edge"
)

// Reload takes over what of a configuration can change while the service runs: the
// remote networks with all of theirs, the sizes of caches before embedded ones, the
// prices, the plans, and the default network. What can't
// is named in the log and waits for a restart. Either everything that can change
// does, or an error says why nothing did.
//
// Requests in progress end with what they began with. A network that gets other nodes
// or another size of its cache goes on; with any other change it starts over, and its
// WebSockets are closed with 1012.
func (s *Server) Reload(ctx context.Context, cfg *config.Config) error {
	return s.networks.reload(ctx, cfg, s.edge, s.accounts.setPlans)
}

// reload changes the networks, and what a front end serves of them. What is in force
// then is handed to setPlans.
func (ns *networks) reload(ctx context.Context, cfg *config.Config, front *edge.Edge, setPlans func(*config.Config)) error {
	ns.changing.Lock()
	defer ns.changing.Unlock()
	select {
	case <-ns.closing:
		return nil
	default:
	}
	changes := config.Diff(ns.live, cfg)
	if len(changes) == 0 {
		ns.log.Info("configuration reloaded: nothing changed")
		return nil
	}
	p, err := ns.plan(cfg)
	if err != nil {
		return err
	}
	p.await(ctx, ns.closing, ns.log)
	ns.apply(p, cfg, front)
	setPlans(ns.live)
	ns.logChanges(changes, config.Diff(ns.live, cfg))
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
func (ns *networks) plan(cfg *config.Config) (*plan, error) {
	p := &plan{opened: map[string]*remote{}, moved: map[string]*config.Network{}}
	wanted := map[string]bool{}
	for i := range cfg.Networks {
		n := &cfg.Networks[i]
		if len(n.Nodes) == 0 || ns.isEmbedded(n.Name) {
			continue
		}
		wanted[n.Name] = true
		old, runs := ns.remotes[n.Name]
		if runs && inPlace(&old.cfg, n) {
			p.moved[n.Name] = n
			continue
		}
		r, err := ns.openRemote(n)
		if err != nil {
			for _, r := range p.opened {
				r.close()
			}
			return nil, err
		}
		p.opened[n.Name] = r
	}
	for name := range ns.remotes {
		if !wanted[name] && !becomesEmbedded(cfg, name) {
			p.gone = append(p.gone, name)
		}
	}
	return p, nil
}

func (ns *networks) isEmbedded(name string) bool {
	return slices.ContainsFunc(ns.embedded, func(n nodegate.Network) bool { return n.Name == name })
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
func (p *plan) await(ctx context.Context, closing <-chan struct{}, log *slog.Logger) {
	var all sync.WaitGroup
	for name, r := range p.opened {
		all.Go(func() {
			if err := r.awaitReady(ctx, closing); err != nil {
				log.Warn("network has no usable node yet", "network", name, "err", err)
			}
		})
	}
	all.Wait()
}

// apply can't fail.
func (ns *networks) apply(p *plan, cfg *config.Config, front *edge.Edge) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for name, n := range p.moved {
		r := ns.remotes[name]
		if !reflect.DeepEqual(r.cfg.Nodes, n.Nodes) {
			r.pool.Replace(nodesOf(n))
		}
		if r.cache != nil && r.cfg.Cache != n.Cache {
			r.cache.Resize(int64(n.Cache))
		}
		r.cfg = *n
	}
	for name, r := range p.opened {
		if old, runs := ns.remotes[name]; runs {
			r.pool.CarryCordons(old.pool)
			r.pool.Continue(old.pool.Used())
			old.stop() // the new one goes on with its copy
			ns.retire(old)
		}
		ns.remotes[name] = r
		r.start()
	}
	for _, name := range p.gone {
		ns.remotes[name].stop()
		ns.retire(ns.remotes[name])
		delete(ns.remotes, name)
	}
	ns.live = ns.effective(cfg)
	ns.show(ns.live)
	for name, f := range ns.fronts {
		f.Resize(int64(embeddedIn(ns.live, name).Cache))
	}
	costs := costsOf(ns.live)
	ns.costs.Store(&costs)
	front.Serve(ns.list(), ns.live.DefaultNetwork, costs)
}

// effective is the configuration that is in force: what a start gave, with what the
// reload could change.
func (ns *networks) effective(cfg *config.Config) *config.Config {
	live := *ns.live
	live.Costs, live.Plans, live.DefaultPlan = maps.Clone(cfg.Costs), maps.Clone(cfg.Plans), cfg.DefaultPlan
	live.Networks = slices.DeleteFunc(slices.Clone(ns.live.Networks), func(n config.Network) bool { return len(n.Nodes) > 0 })
	for i := range live.Networks {
		n := &live.Networks[i]
		if wanted := embeddedIn(cfg, n.Name); n.Cache > 0 && wanted != nil && wanted.Cache > 0 {
			n.Cache = wanted.Cache
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ns.remotes)) {
		live.Networks = append(live.Networks, ns.remotes[name].cfg)
	}
	if cfg.DefaultNetwork == "" || ns.serves(cfg.DefaultNetwork) {
		live.DefaultNetwork = cfg.DefaultNetwork
	}
	return &live
}

func (ns *networks) serves(name string) bool {
	_, remote := ns.remotes[name]
	return remote || ns.isEmbedded(name)
}

// logChanges says of each change whether it is in force now: what still differs from
// the file is not.
func (ns *networks) logChanges(changes, left []config.Change) {
	waits := map[string]bool{}
	for _, c := range left {
		waits[c.Setting] = true
	}
	for _, c := range changes {
		if waits[c.Setting] {
			ns.log.Warn("configuration change needs a restart", "change", c.String())
			continue
		}
		ns.log.Info("configuration changed", "change", c.String())
	}
}
