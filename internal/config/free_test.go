package config

import "testing"

// TestFreePlan: the free plan is enough for the dapp that docs/limits.md describes, and
// lowers no limit that accounts on it had before.
func TestFreePlan(t *testing.T) {
	free, cost := builtinPlans()[freePlan], Default().Costs
	const users, open, loading, pageCalls, polls = 300, 30, 15, 25, 20 * 60 / 4
	other := cost["other"]
	transaction := cost["eth_estimateGas"] + cost["eth_sendRawTransaction"] + 8*other
	user := polls*other + 3*pageCalls*cost["eth_call"] + 5*cost["eth_getLogs"] + 2*transaction
	if day := users * user; user != 33_315 || free.CreditsPerDay < 2*day {
		t.Errorf("a user needs %d credits, all of them %d a day: the plan has %d", user, day, free.CreditsPerDay)
	}
	if second := open * other / 4; free.CreditsPerSecond < 3*second {
		t.Errorf("open pages need %d credits a second: the plan has %d", second, free.CreditsPerSecond)
	}
	if burst := loading * pageCalls * cost["eth_call"]; free.Burst < burst {
		t.Errorf("%d pages need %d credits at once: the plan has %d", loading, burst, free.Burst)
	}
	before := Plan{CreditsPerSecond: 500, Burst: 10_000, CreditsPerDay: 3_000_000, StoredBytes: 5 << 30, MovedBytes: 50 << 30, StorageWrites: 150, StorageReads: 1500, Keys: 1000}
	if free.CreditsPerSecond < before.CreditsPerSecond || free.Burst < before.Burst || free.CreditsPerDay < before.CreditsPerDay || free.StoredBytes < before.StoredBytes ||
		free.MovedBytes < before.MovedBytes || free.StorageWrites < before.StorageWrites || free.StorageReads < before.StorageReads || free.Keys < before.Keys || free.Sockets > 0 || free.Subscriptions > 0 {
		t.Errorf("%+v lowers a limit of %+v", free, before)
	}
}
