package config

// readProxies reads trusted_proxies.
func readProxies(l *loader, c *Config, path string, n node) {
	c.TrustedProxies = l.texts(path, n, checkProxy)
}

// readAdminHosts reads admin.hosts.
func readAdminHosts(l *loader, c *Config, path string, n node) {
	c.Admin.Hosts = l.texts(path, n, checkHostName)
}

// readNetworks replaces the built-in networks by those of the file.
func readNetworks(l *loader, c *Config, path string, n node) {
	nodes, ok := l.items(path, n)
	if !ok {
		return
	}
	if len(nodes) == 0 {
		l.fail(l.place(n), path, "is empty; list a network, or remove the key for the built-in ones")
		return
	}
	c.Networks = make([]Network, len(nodes))
	for i, item := range nodes {
		base := networkPath(i)
		l.src[base] = l.place(item)
		networkDefaults(&c.Networks[i])
		readSection(l, &c.Networks[i], networkSettings, base, "", item)
	}
}

// readWindow reads the history_window of a network.
func readWindow(l *loader, t *Network, path string, n node) {
	pairs, _ := l.pairs(path, n)
	t.HistoryWindow = map[string]uint64{}
	for _, p := range pairs {
		at := path + "." + p.key
		if err := checkWindowMethod(p.key); err != nil {
			l.fail(l.place(p.keyNode), path, "%v", err)
			continue
		}
		blocks := uint64(0)
		text, err := scalar(p.value, kindWhole)
		if err == nil {
			err = whole(&blocks, 1, maxWindow).set(text)
		}
		if err != nil {
			l.fail(l.place(p.value), at, "%v", err)
			continue
		}
		t.HistoryWindow[p.key] = blocks
	}
}

// maxWindow is more blocks than any chain has.
const maxWindow = 1_000_000_000

// readNamespaces reads the extra namespaces of a network.
func readNamespaces(l *loader, t *Network, path string, n node) {
	t.Namespaces = l.texts(path, n, checkNamespace)
}
