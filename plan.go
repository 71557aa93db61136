package nodegate

// Plan is what an account may use. A zero limit is no limit.
type Plan struct {
	Name        string
	SelfService bool // members may choose it themselves
	NeedsCard   bool // if they have a valid card

	CreditsPerSecond int64
	Burst            int64 // credits that may be saved up
	CreditsPerDay    int64 // reset at 00:00 UTC

	StoredBytes   int64 // in the storage gateway
	MovedBytes    int64 // through the storage gateway, a month
	StorageWrites int64 // requests a second
	StorageReads  int64 // requests a second

	Keys          int64 // that are not revoked
	Sockets       int64 // open at the same time; 0 is the server's own bound
	Subscriptions int64 // the same

	LogBlocks  int64 // blocks that a log query may span; 0 is the server's own limit
	LogResults int64 // logs that it may find; the same
}

// Costs are the credits of calls.
type Costs struct {
	Methods map[string]int64
	Other   int64 // every other known method
	Unknown int64 // a method that does not exist
	Refused int64 // a request that is refused with a 4xx status
}

// Of is what a method costs. known says whether the service offers it; a method
// with a cost of its own is known.
func (c *Costs) Of(method string, known bool) int64 {
	if cost, ok := c.Methods[method]; ok {
		return cost
	}
	if known {
		return c.Other
	}
	return c.Unknown
}
