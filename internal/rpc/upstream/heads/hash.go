package heads

// Hash is the hash of one of the newest blocks as a JSON token, as nodes that are believed
// reported it; "" where it is not known.
func Hash(t *Tracker, number uint64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.branch.hash(number)
}
