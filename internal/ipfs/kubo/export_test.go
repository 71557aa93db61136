package kubo

import "time"

// SetClock replaces the clock of an engine that is about to be made.
func (c *Config) SetClock(now func() time.Time) { c.now = now }

// OnlyProbes leaves it to the health checks to end an upload.
func (c *Config) OnlyProbes() { c.limits.stall, c.limits.finish = time.Hour, time.Hour }

// Hurry shortens all waits, and what a batch keeps in memory.
func (c *Config) Hurry(wait time.Duration, kept int64) {
	c.limits = limits{
		probeEvery: wait / 2, probe: wait / 2, answer: wait, stall: wait, finish: 2 * wait, pinning: time.Minute, kept: kept,
	}
}
