package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/ipfs/pinning"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tracing"
	"github.com/nodegate/nodegate/internal/web"
)

// Config is what the gateway works with.
type Config struct {
	Auth           nodegate.Authenticator
	Usage          *usage.Recorder
	RequestLog     *requestlog.Log // nil keeps no requests
	Engine         unixfs.Engine
	Memory         *budget.Budget                                             // of uploads and downloads; nil is no bound
	Limits         unixfs.Limits                                              // of uploads and walks
	Reads          unixfs.ReadLimits                                          // of the other commands
	Timeout        time.Duration                                              // of a command that names none
	Room           func() error                                               // an error while nothing can be stored; nil: the engine knows
	Requests       int                                                        // of one account or address at once; default 64
	Heavy          int                                                        // of those, long listings, archives and pins; default 4
	CompressBytes  int64                                                      // content that get compresses; default 1 GiB
	TrustedProxies []netip.Prefix                                             // whose X-Forwarded-For is believed
	Moved          func(accountID string, month time.Time) (int64, error)     // what an account moved in a month
	Read           Access                                                     // who may read with GET /ipfs
	ReadRate       int64                                                      // requests a second of one address, when everybody may
	Sites          []string                                                   // hosts of the read gateway below which each CID has a host of its own
	PinRequests    nodegate.PinRequestStore                                   // of the pinning service; nil is none
	Quota          func(ctx context.Context, accountID string) (int64, error) // bytes that an account may have stored; an error while it may store nothing
	Metrics        *obs.Metrics
	Tracer         *tracing.Tracer // nil traces nothing
	Log            *slog.Logger
}

// Gateway serves Kubo's API. It is an http.Handler.
type Gateway struct {
	cfg      Config
	objects  *unixfs.Objects
	commands map[string]*command
	ids      *obs.RequestIDs
	metrics  *obs.Storage
	rates    rates
	shares   shares
	hosts    siteHosts
	slowdown web.Slowdown[string] // of refusals, by account or address
	moved    moved
	given    given
	pins     *pinning.Service // nil without one
}

// New builds the front end.
func New(cfg Config) *Gateway {
	g := &Gateway{cfg: cfg, objects: unixfs.NewLimited(cfg.Engine, cfg.Reads), shares: newShares(cfg), ids: obs.NewRequestIDs(), commands: commandTable()}
	g.moved.figures = cfg.Moved
	g.hosts = siteHosts{cfg.Sites, cfg.TrustedProxies}
	if cfg.Metrics == nil {
		cfg.Metrics = obs.NewMetrics()
	}
	names := append(slices.Collect(maps.Keys(g.commands)), readCommand.name)
	for _, c := range pinsCommands {
		names = append(names, c.name)
	}
	g.metrics = cfg.Metrics.Storage(names)
	g.shares.follow(cfg.Metrics)
	if cfg.PinRequests != nil {
		g.pins = g.newPinning()
	}
	return g
}

const apiPath = "/api/v0"

// ServeHTTP answers everything below /api/v0 and /pins, and below /ipfs and on hosts of
// content where reading is open.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	web.CORS(h, req.Header.Get("Origin"))
	h.Set("X-Request-Id", g.ids.For(req.Header["X-Request-Id"]))
	if req.Method == http.MethodConnect {
		g.connect(w, req)
		return
	}
	if g.cfg.Read != Nobody && g.serveReader(w, req) {
		return
	}
	pins := g.pins != nil && isPinsPath(req.URL.Path)
	name, ok := strings.CutPrefix(req.URL.Path, apiPath)
	if why := g.forged(req); why != "" && (pins || ok) {
		h.Del("Access-Control-Allow-Origin")
		plain(w, http.StatusForbidden, why)
		return
	}
	if pins {
		g.servePins(w, req)
		return
	}
	if !ok || name != "" && name[0] != '/' {
		plain(w, http.StatusNotFound, "404 page not found")
		return
	}
	if name == "" {
		http.Redirect(w, req, apiPath+"/", http.StatusTemporaryRedirect)
		return
	}
	if req.Method == http.MethodOptions {
		h.Set("Allow", "OPTIONS, POST")
		web.Preflight(w, req)
		return
	}
	if req.Method != http.MethodPost {
		h.Set("Allow", "OPTIONS, POST")
		plain(w, http.StatusMethodNotAllowed, "405 - Method Not Allowed")
		return
	}
	g.serve(w, req, strings.Trim(name, "/"), nil)
}

// plain answers a line of text.
func plain(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(line + "\n"))
}

// ServeGranted runs a command for somebody who was let in elsewhere, by a session: the
// same limits, quotas and usage as for the key itself.
func (g *Gateway) ServeGranted(w http.ResponseWriter, req *http.Request, name string, grant *nodegate.Grant) {
	w.Header().Set("X-Request-Id", g.ids.New())
	g.serve(w, req, name, grant)
}

// serve runs one command: who, parse, check, do, answer. Without a grant the request
// has to bring a key.
func (g *Gateway) serve(w http.ResponseWriter, req *http.Request, name string, grant *nodegate.Grant) {
	c := g.newCall(w, req)
	c.grant = grant
	serve(c, name)
}

func serve(c *call, name string) {
	start := time.Now()
	if c.req.ContentLength != 0 { // a body that does not come must not be waited for, whoever reads it
		_ = http.NewResponseController(c.w).SetReadDeadline(start.Add(bodyTime))
	}
	err := c.guarded(func() error { return c.run(name) })
	endSpan(c, err)
	slow(c, err)
	if err != nil && !c.answer.begun {
		c.refuse(err)
	}
	c.end(err, time.Since(start))
}

// newCall begins a request. What it reads and writes is counted as it moves.
func (g *Gateway) newCall(w http.ResponseWriter, req *http.Request) *call {
	c := &call{gateway: g, w: w, req: req}
	c.answer = newAnswer(w, c.sends)
	return c
}

// end counts a request and breaks off an answer that is not whole.
func (c *call) end(err error, took time.Duration) {
	c.hold.Release()
	c.record(err, took)
	if err != nil && c.answer.begun {
		if nodegate.AsError(err).Code == nodegate.Internal && !c.answer.gone && c.req.Context().Err() == nil {
			c.gateway.logged(err)
		}
		// Only a broken connection shows every client that the answer is not whole.
		panic(http.ErrAbortHandler)
	}
}

// bodyTime is how long a body may take to begin; then it is held to a pace.
const bodyTime = 10 * time.Second

// guarded runs a command. A panic below is this request's error and nobody else's.
func (c *call) guarded(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &nodegate.Error{Op: "storage.call", Code: nodegate.Internal, Err: fmt.Errorf("panic in %s: %v\n%s", c.name(), p, debug.Stack())}
		}
	}()
	return run()
}

// call is one request on its way.
type call struct {
	gateway  *Gateway
	w        http.ResponseWriter
	req      *http.Request
	answer   *answer
	command  *command
	grant    *nodegate.Grant
	query    *unixfs.Query
	args     []string
	body     io.Reader // of an upload
	read     int64     // bytes of the body
	ended    bool      // the body was read to its end
	received bool      // the body came before, and was counted then
	unmoved  int64     // bytes that are not counted for the account yet
	status   int       // of a refusal, where it is not the one of the error's code

	span  *tracing.Span // nil if the request is not traced
	hold  budget.Hold   // memory of the upload or download
	place *place        // among the requests of its account
}

// name is what the request is counted as.
func (c *call) name() string {
	if c.command == nil {
		return obs.Other
	}
	return c.command.name
}

// admit lets a key in. Who was let in elsewhere has a grant.
func admit(c *call) (err error) {
	if c.grant == nil {
		c.grant, err = c.gateway.admit(c.w, c.req)
	}
	return err
}

// context is the request's. What works below draws on its memory.
func (c *call) context() context.Context { return budget.WithHold(c.req.Context(), &c.hold) }

// account is whose request it is.
func (c *call) account() string { return c.grant.AccountID }

// begin starts a batch of writes within the account's quota.
func (c *call) begin() unixfs.Batch {
	return c.gateway.cfg.Engine.Begin(c.account(), c.grant.Policy().Plan.StoredBytes)
}

// run does one request; an error is what is answered, or what breaks the answer off.
func (c *call) run(name string) error {
	g := c.gateway
	if err := letIn(c, func() error { return admit(c) }); err != nil {
		return err
	}
	c.hold = g.cfg.Memory.Hold(c.account())
	query := c.req.URL.Query()
	if c.command, c.args = g.find(name, query["arg"]); c.command == nil {
		return unknownCommand(name)
	}
	may := g.mayUse
	if c.received {
		may = g.rates.admit
	}
	if err := may(c.grant, c.command.writes); err != nil {
		return err
	}
	web.Welcome(c.req)
	c.query = unixfs.NewQuery(query)
	timeout, limited, err := c.timeout()
	if err != nil {
		return err
	}
	if err := missingArgs(c); err != nil {
		return err
	}
	_, step := c.span.Step(c.req.Context(), "limits")
	ctx, place, err := g.shares.enter(nodegate.WithGrant(c.context(), c.grant), c.account(), false)
	step.End(err)
	if err != nil {
		return cmp.Or(c.checkRoom(), err)
	}
	defer place.leave()
	c.place = place
	if !argsInBody(c) {
		return timedOut(c.work(ctx, timeout, limited, false))
	}
	return timedOut(place.apart(ctx, func(ctx context.Context) error {
		if err := readArgs(ctx, c); err != nil {
			return err
		}
		return c.work(ctx, timeout, limited, true)
	}))
}

// work runs the command once it has its arguments. It may be in a goroutine apart already.
func (c *call) work(ctx context.Context, timeout time.Duration, limited, apart bool) (err error) {
	ctx, step := c.span.Step(ctx, "command")
	defer func() { step.End(err) }()
	if err := c.checkRoom(); err != nil {
		return err
	}
	heavy := c.heavy()
	if heavy {
		if err := c.place.becomeHeavy(ctx); err != nil {
			return err
		}
	}
	if limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if c.command.streams && c.command.file == "" {
		if err := c.holdDownload(); err != nil {
			return err
		}
	}
	run := func(ctx context.Context) error { return c.command.run(ctx, c) }
	switch {
	case c.command.file != "":
		return c.upload(ctx, run)
	case apart:
		return run(ctx)
	case heavy && !c.command.writes: // a pin sees to that itself: its commit must not wait at low priority
		return c.place.apart(ctx, run)
	case c.command.takesApart(c.args):
		return c.place.counted(ctx, 0, run)
	}
	return run(ctx)
}

// upload runs a command that reads files.
func (c *call) upload(ctx context.Context, run func(context.Context) error) error {
	c.gateway.metrics.UploadBegun()
	defer c.gateway.metrics.UploadEnded()
	return c.once(func() error {
		switch n := c.req.ContentLength; {
		case n < 0 || n > smallUpload:
			return c.place.apart(ctx, run)
		case c.command.takesApart(c.args):
			return c.place.counted(ctx, 0, run)
		}
		return run(ctx)
	})
}

// timeout is how long the command may take: uploads and downloads as long as they
// move, others the gateway's own limit. Kubo answers a time that it can't read with
// 200 and nothing; here it is a usage error.
func (c *call) timeout() (d time.Duration, limited bool, err error) {
	text, given := c.query.String("", "timeout")
	if err := c.query.Err(); err != nil || !given || text == "" {
		return c.gateway.cfg.Timeout, !c.command.streams && c.gateway.cfg.Timeout > 0, err
	}
	d, err = time.ParseDuration(text)
	if err != nil {
		return 0, false, usageError(fmt.Sprintf("could not convert value %q to type %q (for option %q)", text, "duration", "-timeout"))
	}
	return d, true, nil
}

// timedOut puts the end of a command's time into the words that clients look for.
func timedOut(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &nodegate.Error{Op: "storage", Code: nodegate.Timeout, Msg: "context deadline exceeded", Err: err}
	case err == context.Canceled: // the client has left while it waited for a turn
		return &nodegate.Error{Op: "storage", Code: nodegate.Timeout, Msg: err.Error(), Err: err}
	}
	return err
}

// find looks a command up. An argument may also stand in the path: cat/<cid>. The last part
// of a command that only Kubo has, such as refs/local, is no argument.
func (g *Gateway) find(name string, args []string) (*command, []string) {
	if c := g.commands[name]; c != nil {
		return c, args
	}
	at := strings.LastIndexByte(name, '/')
	if at < 0 || instead(name) != "" {
		return nil, nil
	}
	if c := g.commands[name[:at]]; c != nil && len(c.arguments) > 0 {
		return c, append([]string{name[at+1:]}, args...)
	}
	return nil, nil
}

// record counts the request, for its account too, and logs it.
func (c *call) record(err error, took time.Duration) {
	c.gateway.metrics.Done(c.name(), err, took, c.read, c.answer.written, c.span.TraceID())
	outcome, told := nodegate.OutcomeOK, ""
	if err != nil {
		outcome, told = nodegate.AsError(err).Code.String(), requestlog.Told(err)
	}
	c.log(outcome, took)
	if c.grant == nil || c.command == nil {
		return
	}
	c.gateway.cfg.Usage.Record(c.grant, usage.Event{
		Network: "storage", Method: c.command.name, Outcome: outcome, BytesIn: c.read, BytesOut: c.answer.written, Took: took,
	})
	c.gateway.cfg.RequestLog.Record(c.grant, &requestlog.Entry{
		ID: idOf(c.w), At: time.Now().Add(-took), Network: "storage", Method: c.command.name, Outcome: outcome, Error: told, Took: took,
	})
	_ = c.settle()
}

// log writes the access log. Neither a key nor a query is in it: a query may hold
// what a user takes for private.
func (c *call) log(outcome string, took time.Duration) {
	if !c.gateway.cfg.Log.Enabled(c.req.Context(), slog.LevelDebug) {
		return // its values would be made for nobody
	}
	var account string
	if c.grant != nil {
		account = c.grant.AccountID
	}
	c.gateway.cfg.Log.Debug("storage request", "id", idOf(c.w), "command", c.name(), "outcome", outcome, "account", account,
		"from", web.ClientAddr(c.req, c.gateway.cfg.TrustedProxies), "in", c.read, "out", c.answer.written, "took", took.Round(time.Microsecond))
}
