package heads

import "slices"

// point is a block as far as belief goes: its number and its timestamp.
type point struct{ number, time uint64 }

// How far a head may be beyond what is believed already.
const (
	anyStep     = 64 // blocks, at any time
	stepsSecond = 10 // blocks for each second that lies between the two
	fastClock   = 60 // seconds that a node's clock may be ahead of ours
)

// reachable tells whether a chain can have come from one block to another: time
// passes only as fast as our own clock.
func reachable(from, to point, now uint64) bool {
	steps := uint64(anyStep)
	if until := min(to.time, now+fastClock); until > from.time {
		steps += stepsSecond * (until - from.time)
	}
	return to.number <= from.number || to.number-from.number <= steps
}

// believed decides which heads that nodes claim are believed: those that the chain
// can have reached from the highest believed one below, and those that another node
// confirms. base is the last head that was believed, if there is one; otherwise the
// lowest claim is the base.
func believed(base point, known bool, claims []point, now uint64) []bool {
	order := make([]int, len(claims))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case claims[a].number < claims[b].number:
			return -1
		case claims[a].number > claims[b].number:
			return 1
		}
		return 0
	})
	yes := make([]bool, len(claims))
	for at, i := range order {
		c := claims[i]
		if known && !reachable(base, c, now) && !confirmed(claims, order, at) {
			continue
		}
		yes[i] = true
		if !known || c.number > base.number {
			base, known = c, true
		}
	}
	return yes
}

// confirmed tells whether another node claims a block close by.
func confirmed(claims []point, order []int, at int) bool {
	number := claims[order[at]].number
	if at > 0 && number-claims[order[at-1]].number <= anyStep {
		return true
	}
	return at+1 < len(order) && claims[order[at+1]].number-number <= anyStep
}
