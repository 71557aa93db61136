package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/ipfs/pinning"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/internal/web"
)

// pinsPath is where the IPFS Pinning Service API is.
const pinsPath = "/pins"

func isPinsPath(path string) bool { return path == pinsPath || strings.HasPrefix(path, pinsPath+"/") }

// pinsCall is one request to the pinning service on its way.
type pinsCall struct {
	*call
	id string // of a request, or ""
}

// pinsCommands are what requests count as, by the HTTP method and whether they name a
// pin request.
var pinsCommands = map[string]*command{
	"GET /pins":       {name: "pins/ls", heavy: true},
	"POST /pins":      {name: "pins/add", writes: true, stores: true},
	"GET /pins/ID":    {name: "pins/get"},
	"POST /pins/ID":   {name: "pins/replace", writes: true, stores: true},
	"DELETE /pins/ID": {name: "pins/rm", writes: true},
}

// newPinning makes the service that pins what is asked for.
func (g *Gateway) newPinning() *pinning.Service {
	return pinning.New(pinning.Config{
		Store: g.cfg.PinRequests, PinOf: g.cfg.Engine.PinOf, Pins: g.cfg.Engine.Pins, Pin: g.pinFor, Unpin: g.unpinFor,
		Apart: g.shares.listApart, Log: g.cfg.Log,
	})
}

// RunPins works on pin requests until the context ends.
func (g *Gateway) RunPins(ctx context.Context) {
	if g.pins != nil {
		g.pins.Run(ctx)
	}
}

// pinFor pins content that an account has asked for, as pin/add does: within the account's
// quota, its share of the server and the limits of walks.
func (g *Gateway) pinFor(ctx context.Context, accountID, text, name string) error {
	id, err := cid.Decode(text)
	if err != nil {
		return failed(err.Error())
	}
	quota, err := g.cfg.Quota(ctx, accountID)
	if err != nil {
		return err
	}
	if g.cfg.Room != nil {
		if err := g.cfg.Room(); err != nil {
			return err
		}
	}
	hold := g.cfg.Memory.Hold(accountID)
	defer hold.Release()
	ctx, place, err := g.shares.enter(budget.WithHold(ctx, &hold), accountID, true)
	if err != nil {
		return err
	}
	defer place.leave()
	batch := g.cfg.Engine.Begin(accountID, quota)
	defer batch.Abort()
	walked, err := g.objects.Walk(ctx, batch, id, g.cfg.Limits, func(unixfs.Walked) {})
	if err != nil {
		return notHere(err)
	}
	batch.Pin(nodegate.Pin{AccountID: accountID, CID: id.String(), Name: name, Recursive: true, Size: walked.Charge, Created: time.Now()})
	place.worked()
	return batch.Commit(ctx)
}

// notHere says what to do about content that can't be pinned because it is missing.
func notHere(err error) error {
	if e := nodegate.AsError(err); e.Code == nodegate.NotFound {
		return failed("the content is not stored here, and there is no source to fetch it from: upload it with add or dag/import, then pin it again (" + e.Msg + ")")
	}
	return err
}

func (g *Gateway) unpinFor(ctx context.Context, accountID, text string) error {
	batch := g.cfg.Engine.Begin(accountID, 0)
	defer batch.Abort()
	batch.Unpin(text)
	return batch.Commit(ctx)
}

// servePins answers one request to the pinning service.
func (g *Gateway) servePins(w http.ResponseWriter, req *http.Request) {
	start := time.Now()
	p := &pinsCall{call: g.newCall(w, req), id: strings.Trim(strings.TrimPrefix(req.URL.Path, pinsPath), "/")}
	methods, place := "GET, POST, OPTIONS", " "+pinsPath
	if p.id != "" {
		methods, place = "DELETE, GET, POST, OPTIONS", " "+pinsPath+"/ID"
	}
	if req.Method == http.MethodOptions {
		w.Header().Set("Allow", methods)
		web.PreflightFor(w, req, methods)
		return
	}
	if req.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(start.Add(bodyTime))
	}
	p.command = pinsCommands[req.Method+place]
	err := p.guarded(p.run)
	endSpan(p.call, err)
	if p.command == nil && errors.Is(err, nodegate.HTTPMethod) {
		w.Header().Set("Allow", methods)
	}
	slow(p.call, err)
	if err != nil && !p.answer.begun {
		g.refusePins(w, err)
	}
	p.end(err, time.Since(start))
}

// run does one request: who, check, do, answer.
func (p *pinsCall) run() error {
	g := p.gateway
	if err := letIn(p.call, p.admit); err != nil {
		return err
	}
	p.hold = g.cfg.Memory.Hold(p.account())
	if p.command == nil {
		return &nodegate.Error{Op: "storage.pins", Code: nodegate.HTTPMethod, Msg: "the method " + p.req.Method + " is not allowed here"}
	}
	if err := g.mayUse(p.grant, p.command.writes); err != nil {
		return err
	}
	web.Welcome(p.req)
	if err := p.checkRoom(); err != nil {
		return err
	}
	_, step := p.span.Step(p.req.Context(), "limits")
	ctx, place, err := g.shares.enter(nodegate.WithGrant(p.context(), p.grant), p.account(), p.command.heavy)
	step.End(err)
	if err != nil {
		return err
	}
	defer place.leave()
	if g.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.cfg.Timeout)
		defer cancel()
	}
	do := p.do
	if p.place = place; p.command.heavy {
		do = p.apart
	}
	return timedOut(inSpan(ctx, p.call, "command", do))
}

func (p *pinsCall) admit() (err error) {
	p.grant, err = p.gateway.admitToken(p.w, p.req)
	return err
}

// apart does a list: one at a time in the process, at low priority where it takes long.
func (p *pinsCall) apart(ctx context.Context) error {
	lists := p.gateway.shares.lists
	if err := lists.Acquire(ctx, p.account()); err != nil {
		return err
	}
	defer lists.Release(p.account())
	return p.place.apart(ctx, p.do)
}

func (p *pinsCall) do(ctx context.Context) error {
	switch p.req.Method {
	case http.MethodGet:
		if p.id == "" {
			return p.list(ctx)
		}
		r, err := p.gateway.pins.Get(ctx, p.account(), p.id)
		return p.show(http.StatusOK, r, err)
	case http.MethodDelete:
		if err := p.gateway.pins.Remove(ctx, p.account(), p.id); err != nil {
			return err
		}
		p.answer.head("application/json")
		p.answer.WriteHeader(http.StatusAccepted)
		return nil
	}
	ask, err := p.ask()
	if err != nil {
		return err
	}
	if p.id == "" {
		r, err := p.gateway.pins.Add(ctx, p.account(), ask)
		return p.show(http.StatusAccepted, r, err)
	}
	r, err := p.gateway.pins.Replace(ctx, p.account(), p.id, ask)
	return p.show(http.StatusAccepted, r, err)
}

// list answers GET /pins.
func (p *pinsCall) list(ctx context.Context) error {
	q, err := pinsQuery(p.req.URL.Query())
	if err != nil {
		return err
	}
	q.AccountID, q.Grow = p.account(), p.hold.Grow
	page, err := p.gateway.pins.List(ctx, q)
	if err != nil {
		return err
	}
	return p.sendList(ctx, page)
}

// sendList encodes one result after the other: a thousand with all their metadata take a
// while.
func (p *pinsCall) sendList(ctx context.Context, page pinning.Page) error {
	body := fmt.Appendf(nil, `{"count":%d,"results":[`, page.Count)
	for i, r := range page.Results {
		item, err := encodeInTurn(ctx, statusOfPin(r))
		if err != nil {
			return err
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item...)
	}
	p.answer.head("application/json")
	_, err := p.answer.Write(append(body, "]}\n"...))
	return err
}

// pinStatus is a pin request as clients see it.
type pinStatus struct {
	RequestID string                    `json:"requestid"`
	Status    nodegate.PinRequestStatus `json:"status"`
	Created   time.Time                 `json:"created"`
	Pin       pinObject                 `json:"pin"`
	Delegates []string                  `json:"delegates"` // nobody can send blocks here but by an upload
	Info      map[string]string         `json:"info,omitempty"`
}

// pinObject is what a client asks for.
type pinObject struct {
	CID     string            `json:"cid"`
	Name    string            `json:"name,omitempty"`
	Origins []string          `json:"origins"`
	Meta    map[string]string `json:"meta"`
}

func statusOfPin(r *nodegate.PinRequest) pinStatus {
	s := pinStatus{
		RequestID: r.ID, Status: r.Status, Created: r.Created, Delegates: []string{},
		Pin: pinObject{CID: r.CID, Name: r.Name, Origins: append([]string{}, r.Origins...), Meta: r.Meta},
	}
	if s.Pin.Meta == nil { // some clients can't read null
		s.Pin.Meta = map[string]string{}
	}
	if r.Details != "" {
		s.Info = map[string]string{"status_details": r.Details}
	}
	return s
}

// show answers one pin request.
func (p *pinsCall) show(status int, r *nodegate.PinRequest, err error) error {
	if err != nil {
		return err
	}
	body, err := json.Marshal(statusOfPin(r))
	if err != nil {
		return err
	}
	p.answer.head("application/json")
	p.answer.WriteHeader(status)
	_, err = p.answer.Write(append(body, '\n'))
	return err
}
