package config

import (
	"maps"
	"slices"
)

// Files are those that a configuration was read from and that can change while
// the service runs: the file itself first, then those with the nodes' secrets.
func (c *Config) Files() []string {
	var list []string
	add := func(name string) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	add(c.file)
	for _, n := range c.Networks {
		for _, node := range n.Nodes {
			add(node.URLFile)
			add(node.WSFile)
			add(node.ProxyFile)
			add(node.CAFile)
			add(node.CertFile)
			add(node.KeyFile)
			for _, name := range slices.Sorted(maps.Keys(node.HeaderFiles)) {
				add(node.HeaderFiles[name])
			}
		}
	}
	return list
}

// EmptyFile tells whether the configuration was read from a file without any content
// but comments. A file that says {} is not empty: it leaves everything at its default
// on purpose.
func (c *Config) EmptyFile() bool { return c.empty }
