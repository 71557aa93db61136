package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/config"
)

// statusCmd shows the running server on one screen.
type statusCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// shownStatus is a server as the admin listener describes it.
type shownStatus struct {
	Version   string                               `json:"version"`
	Commit    string                               `json:"commit"`
	Go        string                               `json:"go"`
	Started   time.Time                            `json:"started"`
	Listeners struct{ RPC, Storage, Admin string } `json:"listeners"`
	Data      string                               `json:"data"`
	Disk      struct {
		Free    int64 `json:"free_bytes"`
		Reserve int64 `json:"reserve_bytes"`
	} `json:"disk"`
	Database struct {
		Kind  string `json:"kind"`
		Bytes int64  `json:"bytes"`
	} `json:"database"`
	Storage  shownStorage    `json:"storage"`
	Networks []*shownNetwork `json:"networks"`
	Problems []string        `json:"problems"`
}

type shownStorage struct {
	Engine  string `json:"engine"`
	Disk    int64  `json:"disk_bytes"`
	Live    int64  `json:"live_bytes"`
	Damaged int    `json:"damaged_blocks"`
	Nodes   int    `json:"nodes"`
	Healthy int    `json:"healthy_nodes"`
	Problem string `json:"problem"`
}

type shownNetwork struct {
	Name     string `json:"name"`
	Embedded bool   `json:"embedded"`
	Head     uint64 `json:"head"`
	Nodes    int    `json:"nodes"`
	Healthy  int    `json:"healthy_nodes"`
	Cordoned int    `json:"cordoned_nodes"`
	Ledger   *struct {
		Blocks  int64  `json:"blocks"`
		Window  int64  `json:"window"`
		Lag     uint64 `json:"lag"`
		Bytes   int64  `json:"bytes"`
		Problem string `json:"problem"`
	} `json:"ledger"`
	Problem string `json:"problem"`
}

// Run asks the admin listener.
func (cmd *statusCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	s, body, err := askStatus(a, cfg)
	if err != nil {
		return err
	}
	if cmd.JSON {
		return writeJSON(a.stdout, json.RawMessage(body))
	}
	return s.print(a)
}

func askStatus(a *app, cfg *config.Config) (s *shownStatus, body []byte, err error) {
	if body, err = needAdmin(a.ctx, cfg, http.MethodGet, "/status"); err != nil {
		return nil, nil, err
	}
	s = &shownStatus{}
	return s, body, json.Unmarshal(body, s)
}

func (s *shownStatus) print(a *app) error {
	t := newTable(a.stdout)
	t.row("version", fmt.Sprintf("%s, commit %s, %s", s.Version, s.Commit, s.Go))
	if own := readBuild(); own.version != s.Version || own.commit != s.Commit {
		t.row("this command", fmt.Sprintf("%s, commit %s", own.version, own.commit))
	}
	t.row("running", fmt.Sprintf("since %s (%s)", at(s.Started), time.Since(s.Started).Round(time.Second)))
	t.row("JSON-RPC", s.Listeners.RPC)
	t.row("storage", strings.TrimSpace(s.Storage.text()+" "+s.Listeners.Storage))
	t.row("database", s.Database.Kind+", "+size(s.Database.Bytes))
	t.row("data", s.Data)
	t.row("disk", s.diskText())
	for _, p := range s.Problems {
		t.row("problem", p)
	}
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	n := newTable(a.stdout)
	n.row("NETWORK", "HEAD", "NODES", "LEDGER", "STATE")
	for _, one := range s.Networks {
		n.row(one.Name, strconv.FormatUint(one.Head, 10), one.nodesText(), one.ledgerText(), one.state())
	}
	return errors.Join(n.flush())
}

func (s *shownStatus) diskText() string {
	text := size(s.Disk.Free) + " free"
	if s.Disk.Free < s.Disk.Reserve {
		text += ", below the reserve of " + size(s.Disk.Reserve) + ": nothing can be written"
	}
	return text
}

func (s *shownStorage) text() string {
	switch {
	case s.Engine == "off":
		return "off"
	case s.Problem != "":
		return s.Engine + ": " + s.Problem
	case s.Damaged > 0:
		return fmt.Sprintf("%s: %d damaged blocks", s.Engine, s.Damaged)
	case s.Nodes > 0:
		return fmt.Sprintf("%s, %d of %d nodes healthy", s.Engine, s.Healthy, s.Nodes)
	}
	return fmt.Sprintf("%s, %s stored", s.Engine, size(s.Live))
}

func (n *shownNetwork) nodesText() string {
	switch {
	case n.Embedded:
		return "embedded"
	case n.Cordoned > 0:
		return fmt.Sprintf("%d of %d healthy, %d cordoned", n.Healthy, n.Nodes, n.Cordoned)
	}
	return fmt.Sprintf("%d of %d healthy", n.Healthy, n.Nodes)
}

func (n *shownNetwork) ledgerText() string {
	switch l := n.Ledger; {
	case l == nil:
		return "none"
	case l.Problem != "":
		return l.Problem
	default:
		return fmt.Sprintf("%d of %d blocks, lag %d, %s", l.Blocks, l.Window, l.Lag, size(l.Bytes))
	}
}

func (n *shownNetwork) state() string {
	switch {
	case n.Problem != "":
		return n.Problem
	case !n.Embedded && n.Healthy < n.Nodes-n.Cordoned:
		return "degraded"
	}
	return "ok"
}

// size shows bytes in the unit that leaves few digits.
func size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
