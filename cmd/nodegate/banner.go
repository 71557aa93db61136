package main

import (
	"fmt"
	"strings"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

// developmentKey is a well-formed API key for the lines to paste: 28 hex digits
// and the first 16 bits of their SHA-256.
const developmentKey = "dec0de00dec0de00dec0de00dec0" + "6257"

// demoRequest works on every network and needs no knowledge of its contents.
const demoRequest = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`

// banner is what a newcomer reads after the start: where the service listens and
// lines to paste.
func banner(cfg *config.Config, at server.Addresses, b build) string {
	var s strings.Builder
	fmt.Fprintf(&s, "nodegate %s is ready\n\n", b.version)
	fmt.Fprintf(&s, "  JSON-RPC  %s\n  metrics   %s/metrics\n  data      %s\n\n", at.RPC, at.Admin, cfg.Data)
	fmt.Fprintf(&s, "  NOTE: there are no accounts yet. ANY key of 32 hex digits is let in, by\n"+
		"  anyone who reaches these addresses. The lines below use %s.\n", developmentKey)
	for _, n := range cfg.Networks {
		fmt.Fprintf(&s, "\n%s\n  %s\n  %s\n", n.Name, curlLine(at.RPC, n.Name), wscatLine(at.RPC, n.Name))
	}
	return s.String() + "\n"
}

// curlLine asks a network for its newest block.
func curlLine(base, network string) string {
	return fmt.Sprintf("curl -s -H 'Content-Type: application/json' -d '%s' %s/%s/v3/%s",
		demoRequest, base, network, developmentKey)
}

// wscatLine opens a WebSocket to a network: http becomes ws, https becomes wss.
func wscatLine(base, network string) string {
	return fmt.Sprintf("wscat -c ws%s/%s/ws/v3/%s", strings.TrimPrefix(base, "http"), network, developmentKey)
}
