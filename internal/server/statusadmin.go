package server

import (
	"net/http"
	"time"

	"github.com/nodegate/nodegate/internal/dashboard"
)

// statusAdmin is the admin listener's GET /status: the whole server on one screen, for
// nodegate status.
type statusAdmin struct {
	operator
	started time.Time
	at      func() Addresses
}

// serverStatus is what it answers. Names and figures only: nothing of a user, no secret.
type serverStatus struct {
	Version   string          `json:"version"`
	Commit    string          `json:"commit"`
	Go        string          `json:"go"`
	Started   time.Time       `json:"started"`
	Listeners listenersStatus `json:"listeners"`
	Data      string          `json:"data"`
	Disk      diskStatus      `json:"disk"`
	Database  databaseStatus  `json:"database"`
	Storage   storageStatus   `json:"storage"`
	Networks  []networkStatus `json:"networks"`
	Problems  []string        `json:"problems,omitempty"` // what could not be found out
}

type listenersStatus struct {
	RPC     string `json:"rpc"`
	Storage string `json:"storage,omitempty"`
	Admin   string `json:"admin"`
}

type diskStatus struct {
	Free    int64 `json:"free_bytes"`
	Reserve int64 `json:"reserve_bytes"` // below it nothing is written
}

type databaseStatus struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
}

// storageStatus is the storage gateway; its nodes are those of Kubo.
type storageStatus struct {
	Engine  string `json:"engine"`
	Disk    int64  `json:"disk_bytes,omitempty"`
	Live    int64  `json:"live_bytes,omitempty"`
	Damaged int    `json:"damaged_blocks,omitempty"`
	Nodes   int    `json:"nodes,omitempty"`
	Healthy int    `json:"healthy_nodes,omitempty"`
	Problem string `json:"problem,omitempty"`
}

type networkStatus struct {
	Name     string       `json:"name"`
	Embedded bool         `json:"embedded"`
	Head     uint64       `json:"head"`
	Nodes    int          `json:"nodes,omitempty"`
	Healthy  int          `json:"healthy_nodes,omitempty"`
	Cordoned int          `json:"cordoned_nodes,omitempty"`
	Ledger   *ledgerBrief `json:"ledger,omitempty"`
	Problem  string       `json:"problem,omitempty"`
}

type ledgerBrief struct {
	Blocks  int64  `json:"blocks"`
	Window  int64  `json:"window"`
	Lag     uint64 `json:"lag"`
	Bytes   int64  `json:"bytes"`
	Problem string `json:"problem,omitempty"`
}

func (a *statusAdmin) now(w http.ResponseWriter, req *http.Request) {
	d, at := a.system(req.Context()), a.at()
	s := serverStatus{
		Version: d.Version, Commit: d.Commit, Go: d.Go, Started: a.started.UTC().Truncate(time.Second), Data: a.cfg.Data,
		Listeners: listenersStatus(at),
		Disk:      diskStatus{d.DiskFree, reserveOf(a.cfg)},
		Database:  databaseStatus{d.Database, d.DatabaseBytes},
		Storage:   briefStorage(&d),
		Problems:  d.Problems,
	}
	for _, n := range a.networks.states(req.Context()) {
		s.Networks = append(s.Networks, briefNetwork(&n))
	}
	writeAdmin(w, s)
}

func briefStorage(d *dashboard.System) storageStatus {
	s := storageStatus{Engine: d.Engine, Nodes: len(d.StorageNodes)}
	for _, n := range d.StorageNodes {
		if n.Healthy {
			s.Healthy++
		}
	}
	if b := d.Blocks; b != nil {
		s.Disk, s.Live, s.Damaged = b.DiskBytes, b.LiveBytes, b.Damaged
		if s.Problem = b.ReadOnly; b.Index != "" {
			s.Problem = "the index is " + b.Index
		}
	}
	return s
}

func briefNetwork(n *dashboard.NetworkState) networkStatus {
	s := networkStatus{Name: n.Name, Embedded: n.Embedded, Head: n.Head, Nodes: len(n.Nodes), Problem: n.Problem}
	for i := range n.Nodes {
		switch node := &n.Nodes[i]; {
		case node.Cordoned:
			s.Cordoned++
		case node.Healthy:
			s.Healthy++
		}
	}
	if l := n.Ledger; l != nil {
		s.Ledger = &ledgerBrief{Blocks: l.Blocks, Window: l.Window, Lag: l.Lag, Bytes: l.Bytes, Problem: l.Problem}
	}
	return s
}
