package kubo

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

const (
	repairLease = "storage.repair"
	// leaseTime is longer than what is done between two renewals: one piece of content
	// is copied for at most limits.pinning.
	leaseTime  = claimTime
	renewEvery = time.Minute
	// repairTries is how often in an interval a server looks whether the next pass is due.
	repairTries = 10
)

// Repair compares what accounts hold with what the nodes have pinned, and copies
// content to further nodes until each piece has as many copies as it should have. Of
// several servers one does so at a time.
type Repair struct {
	e      *Engine
	leases nodegate.LeaseStore
	every  time.Duration
	holder string // this server's name in the lease

	copied, failed, missing atomic.Int64
}

// RepairStat is what is counted of repairs.
type RepairStat struct {
	Copied  int64 // copies that were made
	Failed  int64 // pieces of content that could not be copied
	Missing int64 // pieces of content that no node had whole in this server's last pass
}

// RepairReport is what one pass did.
type RepairReport struct {
	RepairStat
	Ran     bool // false while another server does it, or did it less than an interval ago
	Checked int64
}

// NewRepair returns the repair of an engine's nodes, with a pass every interval.
func NewRepair(e *Engine, leases nodegate.LeaseStore, every time.Duration) *Repair {
	return &Repair{e: e, leases: leases, every: every, holder: rand.Text()}
}

// Stats are the counters since the start.
func (r *Repair) Stats() RepairStat {
	return RepairStat{Copied: r.copied.Load(), Failed: r.failed.Load(), Missing: r.missing.Load()}
}

// Run makes passes until the context ends.
func (r *Repair) Run(ctx context.Context) {
	look := max(r.every/repairTries, time.Second)
	for wait := look; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		report, err := r.Pass(ctx)
		if err != nil && ctx.Err() == nil {
			r.e.cfg.Log.Warn("can't check the copies of stored content: trying again", "err", err)
		}
		if wait = look; report.Ran && err == nil {
			wait = r.every
		}
	}
}

// Pass goes through all content once, unless another server does. After a whole pass
// all servers wait for an interval.
func (r *Repair) Pass(ctx context.Context) (RepairReport, error) {
	mine, err := r.lease(ctx, leaseTime)
	if err == nil && !mine {
		r.missing.Store(0) // the other server knows it now
	}
	if err != nil || !mine {
		return RepairReport{}, err
	}
	p := &pass{Repair: r, report: RepairReport{Ran: true}, renewed: time.Now()}
	err = p.run(ctx)
	pause := r.every
	if err != nil {
		pause = 0 // another server may go on
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	_, ended := r.lease(ending, pause)
	if err == nil {
		r.missing.Store(p.report.Missing)
		p.log()
	}
	return p.report, errors.Join(err, ended)
}

// lease takes the lease, moves its end, or with 0 gives it back.
func (r *Repair) lease(ctx context.Context, d time.Duration) (bool, error) {
	now := r.e.cfg.now()
	return r.leases.Lease(ctx, repairLease, r.holder, now, now.Add(d))
}
