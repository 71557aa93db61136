package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/server"
)

// ledgerCmd are the commands about the ledgers of remote networks.
type ledgerCmd struct {
	Status  ledgerStatus  `cmd:"" default:"1" help:"List the ledgers of the running server: blocks, size, lag and share of the lookups."`
	Verify  ledgerVerify  `cmd:"" help:"Read and verify every block of a ledger on the running server. Damaged blocks are fetched again."`
	Rebuild ledgerRebuild `cmd:"" help:"Remove the blocks of a ledger. It starts again with the newest ones."`
}

type ledgerStatus struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// shownLedger is a ledger as the admin listener describes it.
type shownLedger struct {
	First    uint64  `json:"first"`
	Last     uint64  `json:"last"`
	Blocks   uint64  `json:"blocks"`
	Window   uint64  `json:"window"`
	Data     int64   `json:"data_bytes"`
	Index    int64   `json:"index_bytes"`
	Lag      uint64  `json:"lag"`
	Missing  uint64  `json:"backfill_blocks"`
	Fetching float64 `json:"backfill_seconds"`
	Answered uint64  `json:"answered"`
	Passed   uint64  `json:"passed_on"`
	Refused  uint64  `json:"refused_blocks"`
	Damaged  int     `json:"damaged_blocks"`
	Problem  string  `json:"problem"`
}

// span is the range of blocks.
func (l *shownLedger) span() string {
	if l.Blocks == 0 {
		return "none"
	}
	return fmt.Sprintf("%d to %d", l.First, l.Last)
}

// share is how much of the lookups the ledger answers.
func (l *shownLedger) share() string {
	all := l.Answered + l.Passed
	if all == 0 {
		return "no lookups yet"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(l.Answered)/float64(all))
}

func (l *shownLedger) state() string {
	switch {
	case l.Problem != "":
		return safe(l.Problem)
	case l.Damaged > 0:
		return fmt.Sprintf("%d damaged blocks to fetch again", l.Damaged)
	case l.Missing > 0:
		return fmt.Sprintf("backfill: %d blocks left, at least %s", l.Missing, time.Duration(l.Fetching*float64(time.Second)).Round(time.Second))
	}
	return "ok"
}

// Run prints one ledger a line.
func (cmd *ledgerStatus) Run(a *app) error {
	return showAdmin(a, "/ledgers", cmd.JSON, func(ledgers map[string]shownLedger) error { return printLedgers(a, ledgers) })
}

func printLedgers(a *app, ledgers map[string]shownLedger) error {
	if len(ledgers) == 0 {
		_, err := fmt.Fprintln(a.stdout, "No network has a ledger. Networks of remote nodes have one unless ledger.blocks is 0, a node has a budget of credits, or blocks can't be proven.")
		return err
	}
	t := newTable(a.stdout)
	t.row("NETWORK", "BLOCKS", "WINDOW", "SIZE", "LAG", "ANSWERED", "STATE")
	for _, network := range slices.Sorted(maps.Keys(ledgers)) {
		l := ledgers[network]
		t.row(network, l.span(), strconv.FormatUint(l.Window, 10), fmt.Sprintf("%.1f MiB", float64(l.Data+l.Index)/(1<<20)),
			strconv.FormatUint(l.Lag, 10), l.share(), l.state())
	}
	return t.flush()
}

type ledgerVerify struct {
	Network string `arg:"" help:"The network."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// verifiedLedger is what came of a verification.
type verifiedLedger struct {
	First        uint64 `json:"first"`
	Last         uint64 `json:"last"`
	Blocks       int    `json:"blocks"`
	Transactions int    `json:"transactions"`
	Receipts     int    `json:"receipts"`
	Missing      int    `json:"blocks_without_receipts"`
	Damaged      int    `json:"damaged"`
	Damages      []struct {
		Block uint64 `json:"block"`
		Why   string `json:"why"`
	} `json:"damages"`
}

// Run prints what was proven, and what is damaged. Damage is a failure.
func (cmd *ledgerVerify) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	body, err := needAdmin(a.ctx, cfg, http.MethodPost, "/ledgers/"+url.PathEscape(cmd.Network)+"/verify")
	if err != nil {
		return err
	}
	var r verifiedLedger
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	if cmd.JSON {
		err = writeJSON(a.stdout, json.RawMessage(body))
	} else {
		_, err = fmt.Fprint(a.stdout, r.text(cmd.Network))
	}
	if err == nil && r.Damaged > 0 {
		err = &nodegate.Error{Code: nodegate.Damaged, Msg: fmt.Sprintf("%d blocks of the ledger are damaged; the server fetches them again", r.Damaged)}
	}
	return err
}

// text is the report in words.
func (r *verifiedLedger) text(network string) string {
	var b strings.Builder
	for _, d := range r.Damages {
		fmt.Fprintf(&b, "block %d is damaged: %s\n", d.Block, safe(d.Why))
	}
	if r.Missing > 0 {
		fmt.Fprintf(&b, "%d blocks have no receipts: the nodes didn't return them\n", r.Missing)
	}
	fmt.Fprintf(&b, "%s: proved %d of %d blocks, %d to %d, with %d transactions and %d receipts\n",
		safe(network), r.Blocks-r.Damaged, r.Blocks, r.First, r.Last, r.Transactions, r.Receipts)
	return b.String()
}

type ledgerRebuild struct {
	Network string `arg:"" help:"The network."`
	confirmed
}

// Run has the running server rebuild the ledger, or removes its folder when none runs.
func (cmd *ledgerRebuild) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if !hasNetwork(cfg, cmd.Network) {
		return notFound(fmt.Sprintf("there is no network %q; there are %s", cmd.Network, networkNames(cfg)))
	}
	if err := cmd.confirm(a, "Remove all blocks of the ledger of "+safe(cmd.Network)+", which are then fetched again"); err != nil {
		return err
	}
	_, _, err = askAdmin(a.ctx, cfg, http.MethodGet, "/healthz")
	did := "removed the blocks of the ledger of %s; the server fetches the newest ones\n"
	if errors.Is(err, syscall.ECONNREFUSED) {
		did = "removed the ledger of %s; the next start fetches the newest blocks\n"
		err = server.RemoveLedger(cfg, cmd.Network)
	} else if err == nil {
		_, err = needAdmin(a.ctx, cfg, http.MethodPost, "/ledgers/"+url.PathEscape(cmd.Network)+"/rebuild")
	}
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, did, safe(cmd.Network))
	}
	return err
}
