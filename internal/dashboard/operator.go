package dashboard

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

func operatorRoutes() []route {
	return []route{
		{pattern: "GET /operator", who: operators, serve: networksPage},
		{pattern: "POST /operator/nodes/{network}/{node}/cordon", who: operators, serve: cordonNode, audited: true},
		{pattern: "POST /operator/nodes/{network}/{node}/uncordon", who: operators, serve: uncordonNode, audited: true},
		{pattern: "GET /operator/traffic", who: operators, serve: trafficPage},
		{pattern: "GET /operator/accounts", who: operators, serve: accountsPage},
		{pattern: "GET /operator/accounts/{id}", who: operators, serve: oneAccountPage},
		{pattern: "POST /operator/accounts/{id}/plan", who: operators, serve: setPlan, audited: true},
		{pattern: "POST /operator/accounts/{id}/password", who: operators, serve: setPassword, audited: true},
		{pattern: "POST /operator/accounts/{id}/reset", who: operators, serve: makeResetLink, audited: true},
		{pattern: "GET /operator/accounts/{id}/reset", who: operators, serve: resetLinkPage},
		{pattern: "POST /operator/accounts", who: operators, serve: createAccount, audited: true},
		{pattern: "POST /operator/accounts/{id}/role", who: operators, serve: setRole, audited: true},
		{pattern: "POST /operator/accounts/{id}/suspend", who: operators, serve: suspendAccount, audited: true},
		{pattern: "POST /operator/accounts/{id}/resume", who: operators, serve: resumeAccount, audited: true},
		{pattern: "POST /operator/accounts/{id}/delete", who: operators, serve: deleteAccount, audited: true},
		{pattern: "POST /operator/accounts/{id}/revoke", who: operators, serve: revokeOthersKey, audited: true},
		{pattern: "GET /operator/audit", who: operators, serve: auditPage},
		{pattern: "POST /operator/audit/verify", who: operators, serve: verifyAudit},
		{pattern: "GET /operator/system", who: operators, serve: systemPage},
	}
}

// Operator is what operators see of the whole service.
type Operator struct {
	Networks func(ctx context.Context) []NetworkState
	System   func(ctx context.Context) System
	// Cordon keeps client calls away from a node, or ends that. It writes the audit log.
	Cordon func(ctx context.Context, actor nodegate.Actor, network, node string, on bool) error
}

// NetworkState is how a network is.
type NetworkState struct {
	Name     string
	Embedded bool
	Head     uint64
	Problem  string // why there is no head, or ""
	// Elsewhere is set if another server has a chain of this name too.
	Elsewhere bool
	Period    time.Duration // between blocks of an embedded chain; 0 mines when a transaction arrives
	Nodes     []NodeState   // of a network of remote nodes
	Ledger    *LedgerState  // of one too; nil without one
}

// NodeState is how a remote node is.
type NodeState struct {
	Name, Role, Client string
	Healthy, Cordoned  bool
	Why                string // it is not asked
	Head, Lag          uint64
	ErrorRate          float64 // of the latest requests, 0 to 1
	P50, P95           time.Duration
	InFlight           int64
	Ejections          int64
}

// System is what runs, and what it stands on.
type System struct {
	Version, Commit, Go string

	Database      string // sqlite or postgres
	DatabaseBytes int64
	DiskFree      int64 // where the data folder is

	Engine       string      // of the storage gateway
	Blocks       *BlockState // of the embedded engine
	StorageNodes []StorageNode

	Config   string   // the effective configuration, without secrets
	Problems []string // what could not be found out
}

// BlockState is how the embedded block store is.
type BlockState struct {
	DiskBytes, LiveBytes int64
	Damaged              int
	ReadOnly             string // why nothing can be written, or ""
	Index                string // "damaged", or ""
}

// StorageNode is a node that keeps content.
type StorageNode struct {
	Name    string
	Healthy bool
}

// Percent is the error rate for people.
func (n NodeState) Percent() int64 { return int64(n.ErrorRate*100 + 0.5) }

// networksData are the networks: those of remote nodes first, which need attention more often.
type networksData struct {
	Health         *health
	Far, Embedded  []NetworkState
	Cordoned       int
	Slowest, Worst *NodeState // of the nodes with requests, by p50 and by errors; nil for none
}

func networksPage(v *visit) error {
	states := v.cfg.Operator.Networks(v.req.Context())
	d := networksData{Health: healthIn(states)}
	for i := range states {
		if states[i].Embedded {
			d.Embedded = append(d.Embedded, states[i])
			continue
		}
		d.Far = append(d.Far, states[i])
		d.compare(states[i].Nodes)
	}
	return v.show("operator-networks", d)
}

func (d *networksData) compare(nodes []NodeState) {
	for i := range nodes {
		n := &nodes[i]
		if n.Cordoned {
			d.Cordoned++
		}
		if n.P50 > 0 && (d.Slowest == nil || n.P50 > d.Slowest.P50) {
			d.Slowest = n
		}
		if n.ErrorRate > 0 && (d.Worst == nil || n.ErrorRate > d.Worst.ErrorRate) {
			d.Worst = n
		}
	}
}

// Used is how many nodes get calls.
func (n NetworkState) Used() (used int) {
	for i := range n.Nodes {
		if n.Nodes[i].Healthy {
			used++
		}
	}
	return used
}

func cordonNode(v *visit) error { return setCordon(v, true, "cordoned") }

func uncordonNode(v *visit) error { return setCordon(v, false, "uncordoned") }

func setCordon(v *visit, on bool, done string) error {
	if err := v.cfg.Operator.Cordon(v.req.Context(), v.actor(), v.req.PathValue("network"), v.req.PathValue("node"), on); err != nil {
		return err
	}
	return v.seeOther("/operator?done=" + done)
}

func systemPage(v *visit) error {
	return v.show("operator-system", v.cfg.Operator.System(v.req.Context()))
}
