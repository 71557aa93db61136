package config

import (
	"strings"
	"testing"
)

// TestCacheDefaults: an embedded chain has a small cache, unless blocks can be taken
// back there or the file says otherwise.
func TestCacheDefaults(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  Size
	}{
		{"embedded: {}", 16 << 20},
		{"embedded: {}, cache: 0", 0},
		{"embedded: {}, cache: 2MiB", 2 << 20},
		{"embedded: {}, namespaces: [debug]", 16 << 20},
		{"embedded: {}, namespaces: [evm]", 0},
		{"embedded: {}, namespaces: [evm], cache: 0", 0},
		{"nodes: [{url: http://10.0.0.5:8545}]", 64 << 20},
	} {
		file := write(t, t.TempDir(), "networks:\n  - {name: main, "+c.lines+"}\n")
		if got := mustLoad(t, Options{File: file}).Networks[0].Cache; got != c.want {
			t.Errorf("%s: %d, want %d", c.lines, got, c.want)
		}
	}
	file := write(t, t.TempDir(), "networks:\n  - {name: main, embedded: {}, namespaces: [evm], cache: 1MiB}\n")
	if _, err := Load(Options{File: file}); err == nil || !strings.Contains(err.Error(), "a cache and the namespace evm exclude each other") {
		t.Errorf("both: %v", err)
	}
}
