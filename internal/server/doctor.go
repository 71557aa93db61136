package server

import (
	"context"
	"fmt"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/store/redisstore"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// Check is one line of nodegate doctor. Its detail holds no secret.
type Check struct {
	Name   string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// The states of a check. Only a problem makes the command fail.
const (
	CheckOK      = "ok"
	CheckNote    = "note"
	CheckProblem = "problem"
)

// examTime bounds each check.
const examTime = 10 * time.Second

// Diagnose checks what a configuration depends on: its data folder, databases, storage
// nodes, mail server, certificates, clocks and public address. It changes nothing, and
// takes no part in a server that runs.
func Diagnose(ctx context.Context, cfg *config.Config) []Check {
	e := &exam{cfg: cfg}
	for _, check := range []func(context.Context){
		e.folder, e.disk, e.postgres, e.pepper, e.redis, e.embedded, e.kubo, e.mail, e.certificates, e.balancer, e.clocks,
	} {
		bounded, cancel := context.WithTimeout(ctx, examTime)
		check(bounded)
		cancel()
	}
	return e.checks
}

// exam collects checks.
type exam struct {
	cfg    *config.Config
	checks []Check
	store  *sqlstore.Inspection // nil without Postgres, or when it can't be asked
	times  []clock
}

// clock is what another machine's clock shows, compared with this one's.
type clock struct {
	name string
	off  time.Duration // ahead of ours
	fine time.Duration // how exactly that is known
}

func (e *exam) add(name, status, format string, args ...any) {
	e.checks = append(e.checks, Check{name, status, fmt.Sprintf(format, args...)})
}

func (e *exam) ok(name, format string, args ...any)   { e.add(name, CheckOK, format, args...) }
func (e *exam) note(name, format string, args ...any) { e.add(name, CheckNote, format, args...) }
func (e *exam) problem(name, format string, args ...any) {
	e.add(name, CheckProblem, format, args...)
}

// failed is a check that ended with an error.
func (e *exam) failed(name string, err error) {
	known := nodegate.AsError(err)
	if known.Err != nil {
		e.problem(name, "%s (%v)", known.Msg, known.Err)
		return
	}
	e.problem(name, "%s", known.Msg)
}

// leastPostgres is where a note begins: the Postgres project no longer fixes older versions.
const leastPostgres = 130000

func (e *exam) postgres(ctx context.Context) {
	const name = "postgres"
	if e.cfg.Store.Postgres == "" {
		e.ok(name, "not used: accounts are in SQLite in the data folder")
		return
	}
	i, err := sqlstore.InspectPostgres(ctx, string(e.cfg.Store.Postgres))
	if err != nil {
		e.failed(name, err)
		return
	}
	e.store = i
	e.times = append(e.times, clock{name, i.Ahead, i.Took})
	switch {
	case i.Tables > i.Newest:
		e.problem(name, "version %s; the tables are of a newer nodegate: they have number %d and this one knows %d", i.Version, i.Tables, i.Newest)
	case i.ReadOnly:
		e.problem(name, "version %s; it is read-only, as a standby is. Name the primary, or all hosts with target_session_attrs=read-write", i.Version)
	case i.Meta(movingMeta) != "":
		e.problem(name, "version %s; nodegate migrate was interrupted: run it again", i.Version)
	case i.Number < leastPostgres:
		e.note(name, "version %s is older than 13 and no longer gets fixes: upgrade it", i.Version)
	case i.Tables == 0:
		e.ok(name, "version %s, empty: the first start creates the tables", i.Version)
	case i.Tables < i.Newest:
		e.note(name, "version %s, tables number %d: the first start of this version migrates them to %d", i.Version, i.Tables, i.Newest)
	default:
		e.ok(name, "version %s, tables number %d", i.Version, i.Tables)
	}
}

// pepper compares this server's pepper with the fingerprint that the store keeps.
func (e *exam) pepper(context.Context) {
	const name = "pepper"
	if !hasPepper(e.cfg) {
		if e.store != nil && e.store.Meta(pepperMeta) != "" {
			e.problem(name, "missing: copy the file pepper from another server of this Postgres, or set NODEGATE_PEPPER")
			return
		}
		e.ok(name, "none yet: the first start creates it in the data folder")
		return
	}
	text, err := credential.Pepper(e.cfg.Data, string(e.cfg.Pepper))
	if err != nil {
		e.failed(name, err)
		return
	}
	where := "in the data folder"
	if e.cfg.Pepper != "" {
		where = "in NODEGATE_PEPPER"
	}
	if e.store == nil || e.store.Meta(pepperMeta) == "" {
		e.ok(name, "%s", where)
		return
	}
	known := e.store.Meta(pepperMeta)
	if v, err := credential.Unlock(text, known); err != nil || v.Check() != known {
		e.problem(name, "%s, but the accounts in Postgres were created with another one: use the same pepper on all servers", where)
		return
	}
	e.ok(name, "%s, the same as the store's", where)
}

func (e *exam) redis(ctx context.Context) {
	const name = "redis"
	if e.cfg.Redis.URL == "" {
		if e.cfg.Store.Postgres != "" {
			e.note(name, "not used: each server applies limits by itself. Set redis.url if there are several")
		} else {
			e.ok(name, "not used")
		}
		return
	}
	i, err := redisstore.Inspect(ctx, string(e.cfg.Redis.URL))
	if err != nil {
		e.failed(name, err)
		return
	}
	if i.Timed {
		e.times = append(e.times, clock{name, i.Ahead, i.Took})
	}
	switch {
	case i.Version == "":
		e.note(name, "it answers, but this user may not run INFO: version and eviction policy are not checked")
	case i.MaxMemory == 0:
		e.note(name, "version %s without maxmemory: it may fill the machine. Set maxmemory, and maxmemory-policy volatile-lru", i.Version)
	case i.Policy == "noeviction":
		e.problem(name, "version %s with maxmemory-policy noeviction: when it is full, limits are no longer shared. Set volatile-lru", i.Version)
	case i.Policy != "volatile-lru" && i.Policy != "volatile-ttl" && i.Policy != "volatile-lfu":
		e.note(name, "version %s with maxmemory-policy %s: it may forget limits before caches. Set volatile-lru", i.Version, i.Policy)
	default:
		e.ok(name, "version %s, maxmemory-policy %s", i.Version, i.Policy)
	}
}

func (e *exam) mail(ctx context.Context) {
	const name = "mail"
	if e.cfg.Mail.SMTP == "" {
		e.ok(name, "not used: no mail is sent")
		return
	}
	s, err := mailer.NewSMTP(mailer.Config{URL: string(e.cfg.Mail.SMTP), From: e.cfg.Mail.From})
	if err == nil {
		err = s.Check(ctx)
	}
	switch {
	case err != nil:
		e.failed(name, err)
	case !knowsURL(e.cfg):
		e.note(name, "the server answers and accepts the user, but links are not mailed: set dashboard.url")
	default:
		e.ok(name, "the server answers and accepts the user")
	}
}

// The offsets of clocks. Usage is counted by the minute, and sessions, links and leases
// end by the clock.
const (
	clockNote    = time.Second
	clockProblem = 5 * time.Second
)

func (e *exam) clocks(context.Context) {
	const name = "clocks"
	if len(e.times) == 0 {
		e.ok(name, "nothing to compare with")
		return
	}
	worst := e.times[0]
	for _, c := range e.times {
		if c.surely() > worst.surely() {
			worst = c
		}
	}
	switch off := worst.surely(); {
	case off > clockProblem:
		e.problem(name, "%s is %v off this machine: synchronize both with NTP", worst.name, worst.off.Round(time.Millisecond))
	case off > clockNote:
		e.note(name, "%s is %v off this machine: is NTP running?", worst.name, worst.off.Round(time.Millisecond))
	default:
		e.ok(name, "%d compared, within %v", len(e.times), clockNote)
	}
}

// surely is by how much a clock is off at least.
func (c clock) surely() time.Duration { return max(c.off.Abs()-c.fine, 0) }

// embedded finds networks and content of this server beside a store that others share.
func (e *exam) embedded(context.Context) {
	const name = "embedded"
	if e.store == nil {
		return
	}
	names := embeddedNames(e.cfg)
	var elsewhere, builtin []string
	id, _ := readExisting(networksID(e.cfg))
	for _, n := range names {
		known := e.store.Meta(networkMeta + n)
		switch {
		case known == "" || known == id:
		case isBuiltin(embeddedIn(e.cfg, n)):
			builtin = append(builtin, n)
		default:
			elsewhere = append(elsewhere, n)
		}
	}
	blocks, _ := readExisting(blocksID(e.cfg.Data))
	if known := e.store.Meta(blocksMeta); e.cfg.Storage.Engine == "embedded" && known != "" && known != blocks {
		elsewhere = append(elsewhere, "stored content")
	}
	switch {
	case len(elsewhere) > 0:
		e.problem(name, "%v: in the data folder of another server on this Postgres. Use remote nodes and storage.engine kubo, or nodegate adopt if that server is gone", elsewhere)
	case len(builtin) > 0:
		e.note(name, "%v: another server also has these built-in networks, each with a separate chain. Use remote nodes for shared networks", builtin)
	case len(names) > 0 || e.cfg.Storage.Engine == "embedded":
		e.note(name, "networks %v and storage engine %s are for this server only: a second server needs remote nodes and Kubo", names, e.cfg.Storage.Engine)
	default:
		e.ok(name, "nothing: networks and content are shared")
	}
}
