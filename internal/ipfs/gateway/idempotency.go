package gateway

import (
	lru "container/list"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// What is remembered for clients that repeat a request, at most.
const (
	givenTime     = 24 * time.Hour
	givenBytes    = 64 << 10 // of one answer
	givenAccount  = 256      // answers of one account
	givenTotal    = 16 << 10 // answers
	givenMemory   = 32 << 20 // bytes of answers
	givenRunning  = 4096     // requests in progress
	maxGivenKey   = 255
	smallerReplay = 256 << 10 // of a body that is read before its answer is repeated
)

// given holds the answers to uploads that came with an Idempotency-Key, on this
// server and in memory: adding content twice stores it once anyway, so what is lost
// at a restart costs a client nothing but the work.
type given struct {
	mu       sync.Mutex
	running  map[givenKey]givenRequest
	answers  map[givenKey]*givenAnswer
	accounts map[string]*lru.List // of *givenAnswer, the last used first
	order    lru.List             // the same of all accounts
	bytes    int
}

// givenKey is a key of one account.
type givenKey struct{ account, key string }

// givenRequest stands for a command and its query.
type givenRequest [sha256.Size]byte

type givenAnswer struct {
	key       givenKey
	request   givenRequest
	body      []byte
	at        time.Time
	all, mine *lru.Element // where it stands in the two orders
}

// begin looks for the answer to a request. There is none for a new one, which then
// runs until end is called.
//
// Returns Conflict while the same request runs, or for a key of another request.
func (g *given) begin(key givenKey, request givenRequest) (*givenAnswer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.answers[key]
	if a != nil && time.Since(a.at) > givenTime {
		g.drop(a)
		a = nil
	}
	running, runs := g.running[key]
	switch {
	case a != nil && a.request != request, runs && running != request:
		return nil, &nodegate.Error{Op: "storage", Code: nodegate.Conflict, Msg: "this Idempotency-Key was used with another command or other options: use a new key for each request"}
	case runs:
		return nil, &nodegate.Error{Op: "storage", Code: nodegate.Conflict, RetryAfter: time.Second, Msg: "a request with this Idempotency-Key is in progress: try again later"}
	case a != nil:
		g.order.MoveToFront(a.all)
		g.accounts[key.account].MoveToFront(a.mine)
		return a, nil
	case len(g.running) >= givenRunning:
		return nil, &nodegate.Error{Op: "storage", Code: nodegate.Busy, RetryAfter: time.Second, Msg: "server busy: too many uploads with an Idempotency-Key at once"}
	}
	if g.running == nil {
		g.running, g.answers, g.accounts = map[givenKey]givenRequest{}, map[givenKey]*givenAnswer{}, map[string]*lru.List{}
	}
	g.running[key] = request
	return nil, nil
}

// end notes that a request is done, and its answer if it is to be kept.
func (g *given) end(key givenKey, body []byte, keep bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	request := g.running[key]
	delete(g.running, key)
	if !keep {
		return
	}
	mine := g.accounts[key.account]
	if mine == nil {
		mine = lru.New()
		g.accounts[key.account] = mine
	}
	a := &givenAnswer{key: key, request: request, body: body, at: time.Now()}
	a.all, a.mine = g.order.PushFront(a), mine.PushFront(a)
	g.answers[key] = a
	g.bytes += len(body)
	if mine.Len() > givenAccount {
		g.drop(mine.Back().Value.(*givenAnswer))
	}
	for len(g.answers) > givenTotal || g.bytes > givenMemory {
		g.drop(g.order.Back().Value.(*givenAnswer))
	}
}

func (g *given) drop(a *givenAnswer) {
	mine := g.accounts[a.key.account]
	mine.Remove(a.mine)
	if mine.Len() == 0 {
		delete(g.accounts, a.key.account)
	}
	g.order.Remove(a.all)
	delete(g.answers, a.key)
	g.bytes -= len(a.body)
}

// once runs an upload, or repeats its answer when the same request with the same
// Idempotency-Key was answered before. A request that fails is not remembered.
func (c *call) once(run func() error) error {
	keys := c.req.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return run()
	}
	if len(keys) > 1 || !isGivenKey(keys[0]) {
		return usageError(fmt.Sprintf("an Idempotency-Key is 1 to %d visible ASCII characters", maxGivenKey))
	}
	key := givenKey{c.account(), keys[0]}
	a, err := c.gateway.given.begin(key, sha256.Sum256([]byte(c.command.name+"?"+c.req.URL.Query().Encode())))
	if err != nil {
		return err
	}
	if a != nil {
		return c.replay(a.body)
	}
	kept := &keptAnswer{}
	c.answer.kept = kept
	done := false
	defer func() { c.gateway.given.end(key, kept.body, done && !kept.over) }() // after a panic too
	err = run()
	if done = err == nil; done {
		err = kept.lost
	}
	return err
}

func isGivenKey(key string) bool {
	return key != "" && len(key) <= maxGivenKey && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// replay answers as before. The body is read if it is small, otherwise the
// connection ends after the answer.
func (c *call) replay(body []byte) error {
	if c.unread() {
		_, err := io.CopyN(io.Discard, &countedReader{Reader: c.req.Body, call: c}, smallerReplay)
		if err != nil && err != io.EOF {
			return usageError("the body can't be read: " + err.Error())
		}
	}
	var err error
	c.early(func() {
		c.answer.stream()
		h := c.answer.Header()
		h.Set("Idempotency-Replayed", "true")
		h.Add("Access-Control-Expose-Headers", "Idempotency-Replayed")
		c.answer.WriteHeader(http.StatusOK)
		_, err = c.answer.Write(body)
	})
	return err
}

// keptAnswer is an answer that is remembered while it is sent. It is made to its end
// even when the client has gone: that client will ask again.
type keptAnswer struct {
	body []byte
	over bool  // it is too long to remember
	lost error // why the client has not got it
}

func (k *keptAnswer) write(a *answer, b []byte) (int, error) {
	if k.over = k.over || len(k.body)+len(b) > givenBytes; k.over {
		k.body = nil
	} else {
		k.body = append(k.body, b...)
	}
	if k.lost == nil {
		_, k.lost = a.write(b)
	}
	if k.over && k.lost != nil {
		return 0, k.lost
	}
	return len(b), nil
}
