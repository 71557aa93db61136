package redisstore

import (
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// pause leaves a Redis alone that doesn't answer, for users that can do without it: each
// would wait for nothing.
type pause struct {
	after  int32         // faults in a row
	rest   time.Duration // how long
	faults atomic.Int32
	resume atomic.Int64 // Unix nanoseconds; before that nothing is tried
}

// resting tells whether Redis is left alone now.
func (p *pause) resting() bool { return p.resume.Load() > time.Now().UnixNano() }

// allowed tells whether Redis may be asked. After a pause one caller finds out whether
// it is back; the others wait for what comes of it.
func (p *pause) allowed() bool {
	resume := p.resume.Load()
	if resume == 0 {
		return true
	}
	now := time.Now()
	return now.UnixNano() >= resume && p.resume.CompareAndSwap(resume, now.Add(p.rest).UnixNano())
}

// note learns from an outcome. An answer that is an error is an answer.
func (p *pause) note(err error) {
	if _, answered := rueidis.IsRedisErr(err); err == nil || answered {
		p.faults.Store(0)
		p.resume.Store(0)
		return
	}
	if p.faults.Add(1) >= p.after {
		p.resume.Store(time.Now().Add(p.rest).UnixNano())
	}
}
