package heads

// Claim is the newest block of a node.
type Claim struct {
	Node   string
	Place  Place
	Parent string // the hash of its parent
	Fresh  bool   // the node reports it now; not if it is away, ejected or not believed
}

// Claims are the newest blocks of all nodes that reported one.
func Claims(t *Tracker) (list []Claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.nodes {
		if n.claim.made && n.Checked.Load() {
			fresh := !n.Doubted.Load() && !n.Aside() && n.Silent.Load() < 2
			list = append(list, Claim{n.Name, n.claim.Place(), n.claim.Parent, fresh})
		}
	}
	return list
}
