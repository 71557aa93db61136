package server

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/eth"
	"github.com/nodegate/nodegate/internal/rpc/rollup"
)

// openNetworks starts every network and stacks its layers.
func (s *Server) openNetworks() error {
	for i := range s.cfg.Networks {
		n := &s.cfg.Networks[i]
		if err := s.openNetwork(n); err != nil {
			return fmt.Errorf("network %s: %w", n.Name, err)
		}
	}
	return nil
}

func (s *Server) openNetwork(n *config.Network) error {
	if len(n.Nodes) > 0 {
		r, err := s.openRemote(n)
		if err == nil {
			s.remotes[n.Name] = r
		}
		return err
	}
	node, err := s.openEmbedded(n)
	if err == nil {
		s.embedded = append(s.embedded, nodegate.Network{Name: n.Name, Alias: aliasOf(n), Node: node})
	}
	return err
}

// openEmbedded stacks the checks over the cache, where the network has one, over
// the fee model over the chain. What the layers do with a call is not traced there: most
// calls pass the cache by, and would pay for it.
func (s *Server) openEmbedded(n *config.Network) (nodegate.Node, error) {
	var node nodegate.Node
	embedded, err := s.openChain(n)
	if err != nil {
		return nil, err
	}
	node = embedded
	if n.Layer2 != nil {
		if node, err = withFees(node, n.Layer2, false); err != nil {
			return nil, err
		}
	}
	if n.Cache > 0 {
		front := cache.NewFront(node, cache.Config{Network: n.Name, Bytes: int64(cacheMemory(s.cfg, memoryLimit(), n.Cache))})
		s.fronts[n.Name], node = front, front
	}
	return s.withRules(node, n), nil
}

// withRules puts the checks of the methods over a network's node.
func (s *Server) withRules(node nodegate.Node, n *config.Network) nodegate.Node {
	dialect, _ := eth.ParseDialect(n.Dialect) // checked when the configuration was read
	return eth.New(node, eth.Config{
		Dialect: dialect, Remote: len(n.Nodes) > 0, HistoryWindow: n.HistoryWindow, Layer2: n.Layer2 != nil, Alias: aliasOf(n),
		Namespaces: n.Namespaces, LogBlocks: uint64(s.cfg.Limits.LogBlocks), LogResults: s.cfg.Limits.LogResults,
	})
}

func aliasOf(n *config.Network) string {
	if n.Layer2 == nil {
		return ""
	}
	return n.Layer2.Alias
}

func (s *Server) openChain(n *config.Network) (*chain.Node, error) {
	genesis, blocks, err := chain.Beginning(n.Embedded.Preset, n.Embedded.Genesis, n.Embedded.Chain)
	if err != nil {
		return nil, err
	}
	node, err := chain.Open(chain.Config{
		Dir: filepath.Join(s.cfg.Data, "networks", n.Name), Genesis: genesis, Chain: blocks, Period: n.Embedded.Period,
		AnswerBytes: cacheMemory(s.cfg, memoryLimit(), s.cfg.Memory.Answers), StateBytes: cacheMemory(s.cfg, memoryLimit(), s.cfg.Memory.State),
		CallTimeout: s.cfg.Limits.CallTimeout, Lanes: s.lanes, TraceBytes: int64(s.cfg.Limits.ResponseBytes),
		Guard: guardOf(s.cfg), Log: s.log.With("network", n.Name),
	})
	if err != nil {
		return nil, err
	}
	s.chains, s.chainOf[n.Name] = append(s.chains, node), node
	return node, nil
}

// withFees puts a rollup's fee model over its chain.
func withFees(node nodegate.Node, l *config.Layer2, remote bool) (nodegate.Node, error) {
	c := rollup.Config{Stack: l.Stack, Remote: remote, Margin: l.Margin}
	if l.Dictionary != "" {
		dictionary, err := os.ReadFile(l.Dictionary)
		if err != nil {
			return nil, badFile("can't read the compressor's dictionary "+l.Dictionary, err)
		}
		c.Dictionary = dictionary
	}
	return rollup.New(node, c)
}

func badFile(msg string, err error) error {
	return &nodegate.Error{Op: "server.open", Code: nodegate.BadConfig, Msg: msg, Err: err}
}
