package doctor_test

import (
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/doctor"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/tlstest"
)

// TestExamineTransport: the doctor reaches nodes as the service does.
func TestExamineTransport(t *testing.T) {
	one, authority := harness.Start(t, nil), tlstest.NewAuthority(t)
	host := tlstest.StartFront(t, authority.MutualTLS(t), one.RPC)
	proxy := tlstest.StartProxy(t, tlstest.ProxyConfig{User: "me:swordfish"})
	cert, private := authority.Issue(t)
	node := doctor.Node{
		Name: "far", URL: "https://" + host + "/devnet/v3/" + key, WS: "wss://" + host + "/devnet/ws/v3/" + key,
		Transport: client.Transport{CA: authority.CA, Cert: cert, Key: private, Proxy: proxy.URL, Gzip: true},
	}
	reports, findings := doctor.Examine(t.Context(), devnet(node))
	if r := reports[0]; r.Err != nil || !r.Batch || r.Events != nil || r.Head != 10 || len(problems(findings)) != 0 {
		t.Errorf("it reports %+v, found %q", r, problems(findings))
	}
	if n := len(proxy.Tunnels()); n < 3 { // for calls, the batch and events
		t.Errorf("%d tunnels", n)
	}
	for want, change := range map[string]func(*client.Transport){
		"unknown authority": func(how *client.Transport) { how.CA = "" },
		"certificate":       func(how *client.Transport) { how.Cert, how.Key = "", "" },
		"status 407":        func(how *client.Transport) { how.Proxy = strings.Replace(proxy.URL, "swordfish", "swordfash", 1) },
	} {
		bad := node
		change(&bad.Transport)
		_, findings := doctor.Examine(t.Context(), devnet(bad))
		if list := strings.Join(problems(findings), "\n"); !strings.Contains(list, want) || strings.Contains(list, "swordf") || strings.Contains(list, key) {
			t.Errorf("found %q, want %q", list, want)
		}
	}
}
