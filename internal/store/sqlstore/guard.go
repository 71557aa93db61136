package sqlstore

import (
	"slices"

	"github.com/nodegate/nodegate/internal/disk"
)

// Guarded makes the store refuse writes while the disk is almost full, before SQLite is
// asked. It returns the store; nothing may be using it yet.
func (s *Store) Guarded(g *disk.Guard) *Store {
	s.guard = g
	return s
}

// always are the writes that a nearly full disk takes: those that free space, those that
// end something, and the few bytes of a start. What is kept free is enough for them.
var always = []string{"setMeta", "deleteMeta", "forgetDeparted", "deleteSession", "deleteSessions", "purgeUsage", "releasePins", "expirePins", "beginRemoval", "endRemoval"}

func mayAlways(op string) bool { return slices.Contains(always, op) }
