package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/rpc/chain"
)

// backupAdmin is the part of a running server in a backup. The command line copies the data
// folder itself, as the server's user; the server only says what may be copied, keeps that
// in its place, and sends what can't be copied as files. So it writes nothing elsewhere,
// and knows no passphrase.
type backupAdmin struct {
	*common
	accounts *accounts
	storage  *storageSide
	networks *networks

	running sync.Mutex // one backup at a time
	life    context.Context
	end     context.CancelFunc
}

func newBackupAdmin(c *common, a *accounts, s *storageSide, n *networks) *backupAdmin {
	b := &backupAdmin{common: c, accounts: a, storage: s, networks: n}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// HeldData is what a running server says at the begin of a backup.
type HeldData struct {
	Frozen   bool                 `json:"frozen"` // the block store is open, and stays as Segments say
	Segments []blockstore.Segment `json:"segments"`
	Networks []string             `json:"networks"` // embedded ones, to be fetched one by one
}

// hold is the admin listener's POST /backup. What it names stays as it is until the client
// goes away.
func (b *backupAdmin) hold(w http.ResponseWriter, req *http.Request) {
	if !b.sameData(w, req) {
		return
	}
	if !b.running.TryLock() {
		http.Error(w, "another backup of this server is running: wait until it ends", http.StatusServiceUnavailable)
		return
	}
	defer b.running.Unlock()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it is for requests; this one lasts as long as the backup
	held, release, err := b.held(req.Context())
	if err != nil {
		b.log.Warn("can't start a backup", "err", err)
		refuseAdmin(w, err)
		return
	}
	defer release()
	began := time.Now()
	b.log.Info("backup started", "segments", len(held.Segments), "networks", len(held.Networks))
	w.Header().Set("Content-Type", "application/json")
	if errors.Join(json.NewEncoder(w).Encode(held), http.NewResponseController(w).Flush()) != nil {
		return
	}
	select {
	case <-req.Context().Done():
		b.log.Info("backup ended", "seconds", time.Since(began).Seconds())
	case <-b.life.Done():
		b.log.Warn("the server is closing before the backup ended")
	}
}

// sameData refuses whoever means another data folder, and names this one.
func (b *backupAdmin) sameData(w http.ResponseWriter, req *http.Request) bool {
	if sameFolder(req.URL.Query().Get("data"), b.cfg.Data) {
		return true
	}
	own, _ := filepath.Abs(b.cfg.Data)
	http.Error(w, own, http.StatusConflict)
	return false
}

// held writes what is only in memory, and freezes the block store.
func (b *backupAdmin) held(ctx context.Context) (h HeldData, release func(), err error) {
	h = HeldData{Segments: []blockstore.Segment{}, Networks: []string{}}
	if err := b.accounts.usage.Flush(ctx); err != nil {
		return h, nil, &nodegate.Error{Op: "server.backup", Code: nodegate.Busy, Msg: "usage can't be written to the store", Err: err}
	}
	for name := range b.networks.chainOf {
		h.Networks = append(h.Networks, name)
	}
	slices.Sort(h.Networks)
	release = func() {}
	if blocks, ok := b.storage.engine.(stored); ok {
		h.Frozen = true
		h.Segments, release, err = blocks.Freeze(ctx)
	}
	return h, release, err
}

// network is the admin listener's POST /backup/networks/NETWORK: a copy of an embedded
// chain.
func (b *backupAdmin) network(w http.ResponseWriter, req *http.Request) {
	if !b.sameData(w, req) {
		return
	}
	node := b.networks.chainOf[req.PathValue("network")]
	if node == nil {
		http.Error(w, "unknown network", http.StatusNotFound)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	w.Header().Set("Content-Type", "application/octet-stream")
	sent := &countingWriter{w: w}
	if err := chain.Copy(ctx, node, sent); err != nil {
		b.log.Warn("can't copy a network for a backup", "network", req.PathValue("network"), "err", err)
		if sent.n > 0 {
			panic(http.ErrAbortHandler) // a part must not pass for the whole
		}
		http.Error(w, nodegate.AsError(err).Msg, http.StatusServiceUnavailable)
	}
}

// countingWriter knows whether anything was sent.
type countingWriter struct {
	w http.ResponseWriter
	n int
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += n
	return n, err
}
