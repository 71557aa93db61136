package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/dashboard/faucet"
	"github.com/nodegate/nodegate/internal/ipfs/files"
	"github.com/nodegate/nodegate/internal/ipfs/gateway"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/internal/rpc/chain"
)

// openDashboard builds the front end for people; nil where it is turned off.
func (s *Server) openDashboard() (http.Handler, error) {
	if !s.cfg.Dashboard.On {
		return nil, nil
	}
	s.networks.show(s.cfg)
	operator := s.operator()
	c := dashboard.Config{
		Accounts: s.accounts.control.Accounts, SignUp: s.cfg.Dashboard.SignUp, TrustedProxies: s.trustedProxies(),
		URL: s.cfg.Dashboard.URL, StorageURL: s.cfg.Dashboard.StorageURL, Networks: func() []dashboard.Network { return *s.networks.shown.Load() },
		StoragePort: s.storagePort, StorageCA: s.storage.localAuthority(), Cost: s.networks.priceOf,
		Grant: s.accounts.auth.Grant, RPC: s.rpcGranted, Faucet: s.networks.faucets(),
		Reports: report.New(report.Config{Store: s.accounts.control.Store, SpentToday: s.accounts.limiter.SpentToday, Stored: s.accounts.control.stored, Embedded: s.networks.isEmbedded}), RequestLog: s.accounts.requests,
		Log: s.log, PagesPerSecond: s.cfg.Limits.PagesPerSecond,
		Stripe: s.cfg.Payment.Processor == "stripe", Mails: s.cfg.Mail.SMTP != "",
		Operator: dashboard.Operator{Networks: s.networks.states, System: operator.system, Cordon: s.cordons().set},
	}
	if s.storage.gateway != nil {
		c.Storage, c.Files, c.Uploads = s.storage.gateway.ServeGranted, files.New(shelf{s.storage.engine, s.storage.engine.Begin}, s.storage.gateway.InShare), s.storage.parts
		received := gateway.NewReceived(s.storage.gateway)
		c.Parts = dashboard.Parts{MayReceive: received.May, Received: received.Count, Store: received.Serve}
		if s.cfg.Storage.Gateway != "off" {
			c.Gateway = s.cfg.Storage.Gateway
		}
	}
	if s.cfg.Dashboard.Status {
		c.Status = s.networks.up
		warnOfStatus(s.cfg, s.log)
	}
	return dashboard.New(c)
}

// operator is what operators see of this server.
func (s *Server) operator() operator {
	return operator{common: &s.common, build: s.build, store: s.accounts.control.Store, storage: s.storage, networks: s.networks}
}

// warnOfStatus tells about a network that had the name of the status page before.
func warnOfStatus(cfg *config.Config, log *slog.Logger) {
	for i := range cfg.Networks {
		if cfg.Networks[i].Name == "status" {
			log.Warn("a network has the name of the status page: it works by path, but choose another name", "network", "status")
		}
	}
}

// cordons lets operators keep clients away from nodes.
func (s *Server) cordons() *cordons {
	return &cordons{networks: s.networks, accounts: s.accounts.control.Accounts}
}

// rpcGranted is the edge's, which is built after the dashboard that it serves.
func (s *Server) rpcGranted(w http.ResponseWriter, req *http.Request, network string, grant *nodegate.Grant) {
	s.edge.ServeGranted(w, req, network, grant)
}

// faucets gives ether of the embedded chains.
func (ns *networks) faucets() *faucet.Faucet {
	give := map[string]faucet.Give{}
	for name, c := range ns.chainOf {
		give[name] = func(ctx context.Context, to [20]byte) (string, error) {
			hash, err := c.Fund(ctx, to, chain.Ether(faucet.Amount))
			if err != nil {
				return "", err
			}
			return hash.Hex(), nil
		}
	}
	return faucet.New(give)
}

// shelf lets people work on the pins of the storage gateway's engine.
type shelf struct {
	keeper
	begin func(accountID string, quota int64) unixfs.Batch
}

// keeper is what both engines do with pins beside what the gateway needs.
type keeper interface {
	Pins(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error
	Unpinned(ctx context.Context, accountID string, each func(nodegate.Pin) bool) error
	Undo(ctx context.Context, accountID, cid string) error
	Rename(ctx context.Context, accountID, cid, name string) error
	PinOf(ctx context.Context, accountID, cid string) (nodegate.Pin, error)
	Stored(accountID string) int64
}

// Unpin takes a pin off.
func (s shelf) Unpin(ctx context.Context, accountID, cid string) error {
	b := s.begin(accountID, 0)
	defer b.Abort()
	b.Unpin(cid)
	return b.Commit(ctx)
}

// storagePort is where the storage gateway listens, once it does.
func (s *Server) storagePort() string {
	at := s.cfg.StorageListen
	if s.serving.Load() {
		at = strings.TrimPrefix(s.storage.addr, "https://")
	}
	_, port, _ := net.SplitHostPort(at)
	return port
}
