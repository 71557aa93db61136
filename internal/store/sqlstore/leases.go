package sqlstore

import (
	"context"
	"time"
)

// Lease gives the lease of a name to a holder, in one statement so that only one of
// several servers gets it.
func (s *leaseTable) Lease(ctx context.Context, name, holder string, now, until time.Time) (bool, error) {
	n, err := s.writeOne(ctx, "lease", "lease", `INSERT INTO leases (name, holder, ends) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends = excluded.ends WHERE leases.holder = excluded.holder OR leases.ends <= $4`,
		cleaned(name), cleaned(holder), until.UnixMicro(), now.UnixMicro())
	return n > 0, err
}
