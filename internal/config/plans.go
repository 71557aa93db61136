package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Plan is what an account may use. A zero limit is no limit.
type Plan struct {
	SelfService bool
	NeedsCard   bool

	CreditsPerSecond int64
	Burst            int64 // credits that may be saved up
	CreditsPerDay    int64

	StoredBytes   Size
	MovedBytes    Size  // a month
	StorageWrites int64 // requests a second
	StorageReads  int64 // requests a second

	Keys          int64 // API keys that are not revoked
	Sockets       int64 // 0: limits.sockets_per_account
	Subscriptions int64 // 0: limits.subscriptions_per_account

	LogBlocks  int64 // 0: limits.log_blocks
	LogResults int64 // 0: limits.log_results
}

// The built-in plans. A file may redefine the first; the name of the second is a
// promise.
const (
	freePlan      = "free"
	unlimitedPlan = "unlimited"
)

func builtinPlans() map[string]Plan {
	return map[string]Plan{
		freePlan: {
			CreditsPerSecond: 2000, Burst: 40_000, CreditsPerDay: 20_000_000, // docs/limits.md says why
			StoredBytes: 5 << 30, MovedBytes: 50 << 30, StorageWrites: 150, StorageReads: 1500, Keys: 1000,
		},
		unlimitedPlan: {},
	}
}

// The largest limits. They leave room to multiply without an overflow.
const (
	maxRate    = 1_000_000_000
	maxCredits = 1_000_000_000_000
	maxBytes   = Size(1) << 60
	maxKeys    = 1_000_000
	maxOpen    = 10_000_000
	maxLogs    = 10_000_000
	daySeconds = 86_400
)

// planSettings declares one plan.
var planSettings = schema[Plan]{
	fields: []field[Plan]{
		{
			name: "self_service", def: "false",
			help: "members can choose this plan on the Billing page, once an hour; otherwise only operators assign it",
			at:   func(p *Plan) value { return toggle(&p.SelfService) },
		}, {
			name: "needs_card", def: "false",
			help: "members can choose it only with a valid billing card; has no effect without self_service",
			at:   func(p *Plan) value { return toggle(&p.NeedsCard) },
		}, {
			name: "credits_per_second", def: "0",
			help: "credits added to the bucket each second; requires burst",
			at:   func(p *Plan) value { return whole(&p.CreditsPerSecond, 0, maxRate) },
		}, {
			name: "burst", def: "0",
			help: "size of the bucket; a call or a batch that costs more is refused",
			at:   func(p *Plan) value { return whole(&p.Burst, 0, maxCredits) },
		}, {
			name: "credits_per_day", def: "0",
			help: "daily credits; they reset at 00:00 UTC",
			at:   func(p *Plan) value { return whole(&p.CreditsPerDay, 0, maxCredits) },
		}, {
			name: "stored_bytes", def: "0",
			help: "bytes kept in the storage gateway",
			at:   func(p *Plan) value { return size(&p.StoredBytes, 0, maxBytes) },
		}, {
			name: "moved_bytes", def: "0",
			help: "bytes through the storage gateway in one month",
			at:   func(p *Plan) value { return size(&p.MovedBytes, 0, maxBytes) },
		}, {
			name: "storage_writes", def: "0",
			help: "writing requests to the storage gateway a second",
			at:   func(p *Plan) value { return whole(&p.StorageWrites, 0, maxRate) },
		}, {
			name: "storage_reads", def: "0",
			help: "reading requests to the storage gateway a second",
			at:   func(p *Plan) value { return whole(&p.StorageReads, 0, maxRate) },
		}, {
			name: "keys", def: "1000",
			help: "API keys of an account, not counting revoked ones, and keys that it may create in 24 hours (at least 100); 1000 by default, 0 is no limit",
			at:   func(p *Plan) value { return whole(&p.Keys, 0, maxKeys) },
		}, {
			name: "sockets", def: "0",
			help: "WebSockets that an account may have open at the same time; 0 is limits.sockets_per_account",
			at:   func(p *Plan) value { return whole(&p.Sockets, 0, maxOpen) },
		}, {
			name: "subscriptions", def: "0",
			help: "subscriptions that an account may have at the same time; 0 is limits.subscriptions_per_account",
			at:   func(p *Plan) value { return whole(&p.Subscriptions, 0, maxOpen) },
		}, {
			name: "log_blocks", def: "0",
			help: "widest block range of a log query; 0 is limits.log_blocks",
			at:   func(p *Plan) value { return whole(&p.LogBlocks, 0, maxLogs) },
		}, {
			name: "log_results", def: "0",
			help: "most logs that a log query returns; 0 is limits.log_results",
			at:   func(p *Plan) value { return whole(&p.LogResults, 0, maxLogs) },
		},
	},
}

var planNamePattern = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// readPlans adds the plans of the file to the built-in ones. One of the same name
// replaces the built-in one as a whole.
func readPlans(l *loader, c *Config, path string, n node) {
	pairs, _ := l.pairs(path, n)
	for _, p := range pairs {
		at := l.place(p.keyNode)
		_, null := p.value.(*ast.NullNode)
		switch {
		case !planNamePattern.MatchString(p.key):
			l.fail(at, path, "%q is not a plan's name; use 1 to 32 of a-z, 0-9 and -", p.key)
		case p.key == unlimitedPlan:
			l.fail(at, path, "unlimited can't be redefined; choose another name")
		case null:
			l.fail(at, planPath(p.key), "is empty; list its limits, or write {} for a plan without any")
		default:
			plan := Plan{}
			l.src[planPath(p.key)] = at
			readSection(l, &plan, planSettings, planPath(p.key), "", p.value)
			c.Plans[p.key] = plan
		}
	}
}

// planPath is the start of every path below one plan.
func planPath(name string) string { return "plans." + name + "." }

// checkPlans compares the limits of each plan with each other and with the costs.
func (c *checker) checkPlans() {
	names := slices.Sorted(maps.Keys(c.cfg.Plans))
	if !slices.Contains(names, c.cfg.DefaultPlan) {
		c.failAt("default_plan", "there is no plan %q%s", c.cfg.DefaultPlan, suggest(c.cfg.DefaultPlan, names))
	}
	dearest := dearestMethod(c.cfg.Costs)
	for _, name := range names {
		before := len(c.errs)
		c.checkRates(planPath(name), c.cfg.Plans[name])
		if len(c.errs) == before {
			c.checkAffordable(name, dearest)
		}
	}
}

// checkRates refuses limits that contradict each other.
func (c *checker) checkRates(at string, p Plan) {
	most := p.CreditsPerSecond*daySeconds + p.Burst
	switch {
	case p.CreditsPerSecond == 0 && p.Burst > 0:
		c.failAt(at+"burst", "burst has no effect without credits_per_second; set it too, or remove burst")
	case p.CreditsPerSecond > 0 && p.Burst == 0:
		c.failAt(at+"credits_per_second", "requires burst, the size of the bucket; set it too")
	case p.Burst > p.CreditsPerSecond*daySeconds:
		c.failAt(at+"burst", "%d takes more than a day to fill at %d a second; lower it, and set credits_per_day for the day", p.Burst, p.CreditsPerSecond)
	case p.CreditsPerDay > 0 && p.Burst > p.CreditsPerDay:
		c.failAt(at+"burst", "%d is more than the %d credits of a day; lower it", p.Burst, p.CreditsPerDay)
	case p.CreditsPerDay > most && p.CreditsPerSecond > 0:
		c.failAt(at+"credits_per_day", "%d can't be reached: at %d a second a day has %d at most; lower it or remove it", p.CreditsPerDay, p.CreditsPerSecond, most)
	}
}

// checkAffordable refuses a plan under which a method could never be called.
func (c *checker) checkAffordable(plan, method string) {
	p, cost := c.cfg.Plans[plan], c.cfg.Costs[method]
	limit, name := p.Burst, "burst"
	if limit == 0 {
		limit, name = p.CreditsPerDay, "credits_per_day"
	}
	if limit == 0 || limit >= cost {
		return
	}
	at := c.chosen(planPath(plan)+name, costPath(method))
	c.failAt(at, "%s costs %d credits, more than the %s of plan %s (%d), so it could never be called; raise one or lower the other",
		methodTitle(method), cost, name, plan, limit)
}

func methodTitle(name string) string {
	if slices.Contains(costWords, name) {
		return fmt.Sprintf("a call of the kind %q", name)
	}
	return name
}
