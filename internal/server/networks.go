package server

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/chain"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/eth"
	"github.com/nodegate/nodegate/internal/rollup"
)

// openNetworks starts every network and stacks its layers: the checks over the
// fee model over the chain.
func (s *Server) openNetworks() ([]nodegate.Network, error) {
	var networks []nodegate.Network
	for i := range s.cfg.Networks {
		n := &s.cfg.Networks[i]
		node, err := s.openNetwork(n)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", n.Name, err)
		}
		network := nodegate.Network{Name: n.Name, Node: node}
		if n.Layer2 != nil {
			network.Alias = n.Layer2.Alias
		}
		networks = append(networks, network)
	}
	return networks, nil
}

func (s *Server) openNetwork(n *config.Network) (nodegate.Node, error) {
	var node nodegate.Node
	embedded, err := s.openChain(n)
	if err != nil {
		return nil, err
	}
	node = embedded
	if n.Layer2 != nil {
		if node, err = withFees(node, n.Layer2); err != nil {
			return nil, err
		}
	}
	dialect, _ := eth.ParseDialect(n.Dialect) // checked when the configuration was read
	c := eth.Config{
		Dialect: dialect, HistoryWindow: n.HistoryWindow, Layer2: n.Layer2 != nil, Namespaces: n.Namespaces,
		LogBlocks: uint64(s.cfg.Limits.LogBlocks), LogResults: s.cfg.Limits.LogResults,
	}
	if n.Layer2 != nil {
		c.Alias = n.Layer2.Alias
	}
	return eth.New(node, c), nil
}

func (s *Server) openChain(n *config.Network) (*chain.Node, error) {
	genesis, blocks, err := chain.Beginning(n.Embedded.Preset, n.Embedded.Genesis, n.Embedded.Chain)
	if err != nil {
		return nil, err
	}
	node, err := chain.Open(chain.Config{
		Dir: filepath.Join(s.cfg.Data, "networks", n.Name), Genesis: genesis, Chain: blocks, Period: n.Embedded.Period,
		AnswerBytes: uint64(s.cfg.Memory.Answers), StateBytes: uint64(s.cfg.Memory.State),
		CallTimeout: s.cfg.Limits.CallTimeout, HeavyPerKey: s.cfg.Limits.HeavyPerKey,
		Log: s.log.With("network", n.Name),
	})
	if err != nil {
		return nil, err
	}
	s.chains = append(s.chains, node)
	return node, nil
}

// withFees puts a rollup's fee model over its chain.
func withFees(node nodegate.Node, l *config.Layer2) (nodegate.Node, error) {
	c := rollup.Config{Margin: l.Margin}
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
