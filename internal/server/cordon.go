package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/web"
)

// cordons keeps clients away from nodes, on the word of an operator.
type cordons struct {
	networks *networks
	accounts *account.Service
}

// set cordons a node or ends that, and says so in the audit log.
//
// Returns NotFound for a network or node that isn't there.
func (c *cordons) set(ctx context.Context, actor nodegate.Actor, network, node string, on bool) error {
	if err := c.networks.hasNode(network, node); err != nil {
		return err
	}
	action := "node.uncordon"
	if on {
		action = "node.cordon"
	}
	if err := c.accounts.Record(ctx, actor, action, network+"/"+node); err != nil {
		return err
	}
	return c.networks.cordon(network, node, on)
}

// hasNode is an error where the network or the node isn't there.
func (ns *networks) hasNode(network, node string) error {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	r := ns.remotes[network]
	if r == nil {
		return noRemote(network)
	}
	for _, n := range r.pool.Status() {
		if n.Name == node {
			return nil
		}
	}
	return &nodegate.Error{Op: "server.cordon", Code: nodegate.NotFound, Msg: "network " + network + " has no node " + node + "; nodegate nodes lists them"}
}

// cordon is under the lock that a reload takes, which carries cordons over to what replaces a pool.
func (ns *networks) cordon(network, node string, on bool) error {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	r := ns.remotes[network]
	if r == nil {
		return noRemote(network)
	}
	return r.pool.Cordon(node, on)
}

func noRemote(network string) error {
	return &nodegate.Error{Op: "server.cordon", Code: nodegate.NotFound, Msg: "there is no network " + network + " with remote nodes; nodegate nodes lists them"}
}

// serve is the admin listener's POST /nodes/NETWORK/NODE/cordon and uncordon.
func (c *cordons) serve(on bool) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		actor := nodegate.Actor{Name: "admin listener", From: req.RemoteAddr}
		network, node := req.PathValue("network"), req.PathValue("node")
		if err := c.set(req.Context(), actor, network, node, on); err != nil {
			e := nodegate.AsError(err)
			http.Error(w, e.Msg, web.Status(e.Code))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]bool{"cordoned": on})
	}
}
