package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/web"
)

// ledgerState is one ledger on the admin listener's /ledgers.
type ledgerState struct {
	Off      bool    `json:"off,omitempty"` // the problem says why
	First    uint64  `json:"first"`
	Last     uint64  `json:"last"`
	Blocks   uint64  `json:"blocks"`
	Window   uint64  `json:"window"` // blocks that it may have
	Data     int64   `json:"data_bytes"`
	Index    int64   `json:"index_bytes"`
	Head     uint64  `json:"head"`
	HeadAge  float64 `json:"head_age_seconds"`
	Lag      uint64  `json:"lag"`
	Agreed   int     `json:"agreed"`          // nodes that gave the hash of the newest block
	Missing  uint64  `json:"backfill_blocks"` // that are still to be fetched
	Fetching float64 `json:"backfill_seconds"`
	Answered uint64  `json:"answered"`
	Passed   uint64  `json:"passed_on"`
	Reorgs   uint64  `json:"reorgs"`
	Refused  uint64  `json:"refused_blocks"`
	Repaired uint64  `json:"repaired_blocks"`
	Fetched  uint64  `json:"fetched_blocks"`
	Taken    uint64  `json:"taken_blocks"` // from other servers
	Damaged  int     `json:"damaged_blocks"`
	Problem  string  `json:"problem,omitempty"`
}

// ledgerAdmin is what operators see of ledgers, and do with them.
type ledgerAdmin struct {
	networks *networks
	accounts *account.Service
}

// now is the admin listener's GET /ledgers: how the ledger of each network is.
func (a *ledgerAdmin) now(w http.ResponseWriter, _ *http.Request) {
	states := map[string]ledgerState{}
	a.each(func(r *remote) {
		s := r.ledger.Status()
		states[r.cfg.Name] = ledgerState{
			Off: s.Off, Agreed: s.Agreed, Missing: s.Missing, Fetching: s.MissingTime.Seconds(),
			First: s.First, Last: s.Last, Blocks: s.Blocks, Window: r.cfg.Ledger.Blocks, Data: s.Data, Index: s.Index,
			Head: s.Head, HeadAge: s.HeadAge.Seconds(), Lag: s.Lag, Answered: s.Answered, Passed: s.Passed,
			Reorgs: s.Reorgs, Refused: s.Refused, Repaired: s.Repaired, Damaged: s.Damaged, Problem: s.Problem,
			Fetched: s.Fetched, Taken: s.Taken,
		}
	})
	writeAdmin(w, states)
}

func writeAdmin(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// each hands out the networks that have a ledger.
func (a *ledgerAdmin) each(take func(r *remote)) {
	ns := a.networks
	ns.mu.Lock()
	defer ns.mu.Unlock()
	for _, r := range ns.remotes {
		if r.ledger != nil {
			take(r)
		}
	}
}

// show is what the metrics tell of the networks' ledgers.
func (a *ledgerAdmin) show(show func(network string, f *obs.LedgerFigures)) {
	a.each(func(r *remote) {
		s := r.ledger.Status()
		if !s.Open {
			return
		}
		show(r.cfg.Name, &obs.LedgerFigures{
			First: s.First, Last: s.Last, Blocks: s.Blocks, Lag: s.Lag, Data: s.Data, Index: s.Index,
			Reorgs: s.Reorgs, Refused: s.Refused, Repaired: s.Repaired, Damaged: s.Damaged,
			Answered: s.Answered, Passed: s.Passed, Missing: s.Missing, Fetched: s.Fetched, Taken: s.Taken,
		})
	})
}

// of is the ledger of a network.
//
// Returns NotFound where there is none.
func (a *ledgerAdmin) of(network string) (*ledger.Node, error) {
	ns := a.networks
	ns.mu.Lock()
	defer ns.mu.Unlock()
	r := ns.remotes[network]
	if r == nil || r.ledger == nil {
		return nil, noLedger(network)
	}
	return r.ledger, nil
}

func noLedger(network string) error {
	return &nodegate.Error{Op: "server.ledger", Code: nodegate.NotFound, Msg: "network " + network + " has no ledger; nodegate ledger status lists those that have one"}
}

// verify is the admin listener's POST /ledgers/NETWORK/verify.
func (a *ledgerAdmin) verify(w http.ResponseWriter, req *http.Request) {
	l, err := a.of(req.PathValue("network"))
	var report ledger.Report
	if err == nil {
		report, err = l.Verify(req.Context())
	}
	if err != nil {
		refuseAdmin(w, err)
		return
	}
	writeAdmin(w, shownReport(&report))
}

// ledgerReport is what came of a verification, as the admin listener answers it.
type ledgerReport struct {
	First        uint64         `json:"first"`
	Last         uint64         `json:"last"`
	Blocks       int            `json:"blocks"`
	Transactions int            `json:"transactions"`
	Receipts     int            `json:"receipts"`
	Missing      int            `json:"blocks_without_receipts"`
	Damaged      int            `json:"damaged"`
	Damages      []ledgerDamage `json:"damages,omitempty"`
}

type ledgerDamage struct {
	Block uint64 `json:"block"`
	Why   string `json:"why"`
}

func shownReport(r *ledger.Report) ledgerReport {
	out := ledgerReport{
		First: r.First, Last: r.Last, Blocks: r.Blocks, Transactions: r.Transactions, Receipts: r.Receipts, Missing: r.Missing, Damaged: r.Damaged,
	}
	for _, d := range r.Damages {
		out.Damages = append(out.Damages, ledgerDamage{d.Number, d.Why})
	}
	return out
}

func refuseAdmin(w http.ResponseWriter, err error) {
	e := nodegate.AsError(err)
	http.Error(w, e.Msg, web.Status(e.Code))
}

// rebuild is the admin listener's POST /ledgers/NETWORK/rebuild.
func (a *ledgerAdmin) rebuild(w http.ResponseWriter, req *http.Request) {
	network := req.PathValue("network")
	l, err := a.of(network)
	if err == nil {
		err = a.accounts.Record(req.Context(), nodegate.Actor{Name: "admin listener", From: req.RemoteAddr}, "ledger.rebuild", network)
	}
	if err != nil {
		refuseAdmin(w, err)
		return
	}
	l.Rebuild()
	writeAdmin(w, map[string]bool{"rebuilding": true})
}

// RemoveLedger removes the copy of a network while no server uses the data folder.
//
// Returns NotFound where there is none, and BadConfig while a server runs.
func RemoveLedger(cfg *config.Config, network string) (err error) {
	folder := filepath.Join(cfg.Data, "ledger", network)
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return noLedger(network)
	}
	lock, err := lockFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	return os.RemoveAll(folder)
}
