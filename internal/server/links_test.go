package server

import (
	"testing"

	"github.com/nodegate/nodegate/internal/config"
)

// TestKnowsURL: links are mailed only if they lead to the dashboard.
func TestKnowsURL(t *testing.T) {
	proxies := []string{"10.0.0.0/8"}
	for _, c := range []struct {
		listen, url string
		proxies     []string
		want        bool
	}{
		{"127.0.0.1:8545", "", nil, true},
		{"localhost:8545", "", nil, true},
		{"[::1]:8545", "", nil, true},
		{"127.0.0.1:8545", "", proxies, false},
		{"0.0.0.0:8545", "", nil, false},
		{":8545", "", nil, false},
		{"192.168.1.5:8545", "", nil, false},
		{"node.example.com:8545", "", nil, false},
		{"0.0.0.0:8545", "https://node.example.com", nil, true},
		{"127.0.0.1:8545", "https://node.example.com", proxies, true},
	} {
		cfg := &config.Config{Listen: c.listen, TrustedProxies: c.proxies}
		cfg.Dashboard.URL = c.url
		if got := knowsURL(cfg); got != c.want {
			t.Errorf("%s, %q, %v: %v, want %v", c.listen, c.url, c.proxies, got, c.want)
		}
	}
}
