package main

import (
	"fmt"
	"strings"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

// demoRequest works on every network and needs no knowledge of its contents.
const demoRequest = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`

// banner is what a newcomer reads after the start: where the service listens and,
// the first time, a key with lines to paste.
func banner(cfg *config.Config, srv *server.Server, b build) string {
	var s strings.Builder
	at := srv.Addresses()
	fmt.Fprintf(&s, "nodegate %s is ready\n\n", b.version)
	fmt.Fprintf(&s, "  JSON-RPC  %s\n  metrics   %s/metrics\n  data      %s\n\n", at.RPC, at.Admin, cfg.Data)
	first := srv.FirstKey()
	if first == nil {
		fmt.Fprintf(&s, "  address   %s/<network>/v3/<API_KEY>, networks: %s\n", at.RPC, networkNames(cfg))
		s.WriteString("  new key   nodegate key create --account ACCOUNT; nodegate account list shows the accounts\n\n")
		return s.String()
	}
	fmt.Fprintf(&s, "  This is the first start: the account dev@localhost was made for you, with a test card.\n"+
		"  Its key and secret are shown this once; the lines below work as they are.\n\n"+
		"  API key   %s\n  secret    %s\n", first.Value, first.Secret)
	for _, n := range cfg.Networks {
		fmt.Fprintf(&s, "\n%s\n  %s\n  %s\n", n.Name, curlLine(at.RPC, n.Name, first.Value), wscatLine(at.RPC, n.Name, first.Value))
	}
	return s.String() + "\n"
}

func networkNames(cfg *config.Config) string {
	var names []string
	for _, n := range cfg.Networks {
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}

// curlLine asks a network for its newest block.
func curlLine(base, network, key string) string {
	return fmt.Sprintf("curl -s -H 'Content-Type: application/json' -d '%s' %s/%s/v3/%s", demoRequest, base, network, key)
}

// wscatLine opens a WebSocket to a network: http becomes ws, https becomes wss.
func wscatLine(base, network, key string) string {
	return fmt.Sprintf("wscat -c ws%s/%s/ws/v3/%s", strings.TrimPrefix(base, "http"), network, key)
}
