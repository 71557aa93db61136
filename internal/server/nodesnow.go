package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
)

// nodeState is one node on the admin listener's /nodes.
type nodeState struct {
	Name      string  `json:"name"`
	Role      string  `json:"role"`
	Tier      int     `json:"tier"`
	Healthy   bool    `json:"healthy"`
	Cordoned  bool    `json:"cordoned"`
	Why       string  `json:"why,omitempty"` // it is not asked
	Client    string  `json:"client"`
	Head      uint64  `json:"head"`
	Lag       uint64  `json:"lag"`
	ErrorRate float64 `json:"error_rate"`
	P50       float64 `json:"p50_ms"`
	P95       float64 `json:"p95_ms"`
	InFlight  int64   `json:"in_flight"`
	Ejections int64   `json:"ejections"`
	LogRange  uint64  `json:"max_log_range,omitempty"` // set or learned
}

// nodesNow is the admin listener's GET /nodes: how each node of each network is.
func (ns *networks) nodesNow(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		http.Error(w, "GET", http.StatusMethodNotAllowed)
		return
	}
	states := map[string][]nodeState{}
	ns.mu.Lock()
	for name, r := range ns.remotes {
		for _, status := range r.pool.Status() {
			states[name] = append(states[name], stateOf(status))
		}
	}
	ns.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(states)
}

func stateOf(n pool.Status) nodeState {
	return nodeState{
		Name: n.Name, Role: n.Role, Tier: n.Tier, Healthy: n.Healthy, Cordoned: n.Cordoned, Why: n.Why, Client: n.Client, Head: n.Head, Lag: n.Lag,
		ErrorRate: n.ErrorRate, P50: millis(n.P50), P95: millis(n.P95), InFlight: n.InFlight, Ejections: n.Ejections, LogRange: n.LogRange,
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
