package main

import (
	"fmt"
	"strings"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/server"
)

// demoRequest works on every network and needs no knowledge of its contents.
const demoRequest = `{"jsonrpc":"2.0","id":1,"method":"` + method.EthBlockNumber + `","params":[]}`

// banner is what is printed after a start: where the service listens and, the first
// time, the new account's credentials with requests to try. Where nobody sits at a
// terminal, output ends up in logs that others read: the credentials are in a file
// then, and hidden is its path.
func banner(cfg *config.Config, srv *server.Server, b build, hidden string) string {
	var s strings.Builder
	at := srv.Addresses()
	fmt.Fprintf(&s, "nodegate %s is ready\n\n", b.version)
	fmt.Fprintf(&s, "  JSON-RPC  %s\n", at.RPC)
	if cfg.Dashboard.On {
		// Every browser keeps a session's cookie for this name; for the number, not all do.
		fmt.Fprintf(&s, "  dashboard %s/\n", strings.Replace(at.RPC, "//127.0.0.1:", "//localhost:", 1))
	}
	if at.Storage != "" {
		fmt.Fprintf(&s, "  storage   %s/api/v0\n", at.Storage)
	}
	fmt.Fprintf(&s, "  metrics   %s/metrics\n  data      %s\n\n", at.Admin, cfg.Data)
	switch made := srv.First(); {
	case made == nil:
		fmt.Fprintf(&s, "  address   %s/<network>/v3/<API_KEY>, networks: %s\n", at.RPC, networkNames(cfg))
		s.WriteString("  new key   nodegate key create --account ACCOUNT; nodegate account list shows the accounts\n\n")
	case hidden != "":
		fmt.Fprintf(&s, "  This is the first start: the account %s was created, with a test card.\n"+
			"  Its password, API key and secret are in a file that only this user can read.\n\n"+
			"  sign-in   %s\n\n", made.Email, hidden)
	default:
		fmt.Fprintf(&s, "  This is the first start. The password, API key and secret below are shown once.\n\n%s\n", credentials(cfg, srv))
	}
	return s.String()
}

// credentials are what a first start made, with requests that work as they are.
func credentials(cfg *config.Config, srv *server.Server) string {
	var s strings.Builder
	at, made := srv.Addresses(), srv.First()
	first := made.Key
	fmt.Fprintf(&s, "  account   %s, with a test card\n  password  %s\n  API key   %s\n  secret    %s\n\n"+
		"  To set another password, run: nodegate account password %s\n", made.Email, made.Password, first.Value, first.Secret, made.Email)
	for _, n := range cfg.Networks {
		fmt.Fprintf(&s, "\n%s\n  %s\n  %s\n", n.Name, curlLine(at.RPC, n.Name, first.Value), wscatLine(at.RPC, n.Name, first.Value))
	}
	if at.Storage != "" {
		fmt.Fprintf(&s, "\nstorage (nodegate ca prints the certificate to trust)\n  %s\n  %s\n", addLine(at.Storage, first), catLine(at.Storage, first))
	}
	return s.String()
}

// addLine stores a small file; its CID is always the one that catLine reads.
func addLine(base string, k *server.IssuedKey) string {
	return fmt.Sprintf("echo hello | curl -s -k -u %s:%s -F file=@- %s/api/v0/add", k.Value, k.Secret, base)
}

func catLine(base string, k *server.IssuedKey) string {
	return fmt.Sprintf("curl -s -k -u %s:%s -X POST '%s/api/v0/cat?arg=QmZULkCELmmk5XNfCgTnCyFgAVxBRBXyDHGGMVoLFLiXEN'", k.Value, k.Secret, base)
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
