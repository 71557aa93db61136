package eth

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// The numbers of nodes' errors that mean one thing.
const (
	numberInvalidParams  = -32602
	numberMethodMissing  = -32601
	numberMethodDisabled = -32604 // Besu
	numberUnknownBlock   = -39001
	numberTimeout        = -32016 // Nethermind
	numberPruned         = 4444
)

// The numbers of EIP-1474 that client libraries turn into errors of their own.
const (
	numberUnavailable  = -32002
	numberRejected     = -32003
	numberNotSupported = -32004
	numberLimit        = -32005
)

// explain words a node's error as the contract does: in Geth's words where it is
// known what happened, and otherwise in the node's own, cleaned.
func explain(name string, params []byte, e *nodegate.Error) error {
	if err := revertOf(e); err != nil {
		return err
	}
	text := wordsOf(e)
	lower := strings.ToLower(text)
	switch {
	case methodMissing(e.Number, lower):
		return notFound(name)
	case anyIn(lower, spent):
		return &nodegate.Error{Op: "eth.node", Code: nodegate.Busy, Msg: "server busy", RetryAfter: time.Second}
	case stateMissing(e.Number, lower):
		return failed(stateWords(text, lower))
	case anyIn(lower, locked):
		return &nodegate.Error{Op: "eth.node", Code: nodegate.NoNode, Msg: "no node available"}
	case timedOut(e.Number, lower):
		return nodegate.ErrTimeout("eth.node", errors.New("the node gave up"))
	}
	row := method.Of(name)
	if readsState(row) && meansUnknown(e) {
		return failed(unknownBlock(params, row.Block, lower))
	}
	if words, ok := gethWords(row, text, lower); ok {
		return failed(clean(words))
	}
	return otherFault(row, e, text)
}

func failed(msg string) error {
	return &nodegate.Error{Op: "eth.node", Code: nodegate.ExecutionFailed, Msg: msg}
}

// otherFault keeps a node's words, and its number where clients know that one. Other
// numbers are Geth's for everything.
func otherFault(row *method.Row, e *nodegate.Error, text string) error {
	out := &nodegate.Error{Op: "eth.node", Code: nodegate.NodeFault, Number: e.Number, Msg: clean(text)}
	switch n := e.Number; {
	case n == numberInvalidParams:
		out.Code, out.Number = nodegate.InvalidParams, 0
	case n > 0 && n < 10_000, n > -40_000 && n <= -38_000, n == -32603, isKnown(row, n):
	default:
		out.Code, out.Number = nodegate.ExecutionFailed, 0
	}
	if _, ok := hexDigits(e.Data); ok {
		out.Data = e.Data // a hash or bytes: anything else could tell of the node
	}
	return out
}

// isKnown tells whether client libraries know a number for what EIP-1474 says it means.
// -32001 is none of these: here it is an unknown network, and what a node does not find
// is a null or has Geth's words. -32003, a rejected transaction, makes sense for methods
// that send one.
func isKnown(row *method.Row, number int) bool {
	switch number {
	case numberUnavailable, numberNotSupported, numberLimit:
		return true
	case numberRejected:
		return row.Contracts == method.RawTransaction
	}
	return false
}

// wordsOf is what the node says happened. Some put it into the data.
func wordsOf(e *nodegate.Error) string {
	lower := strings.ToLower(e.Msg)
	for _, words := range vmFailed {
		detail, ok := jsonrpc.String(e.Data)
		if ok && strings.HasPrefix(lower, words) {
			return withoutGas(string(detail))
		}
	}
	return e.Msg
}

// withoutGas takes Nethermind's frame off: "err: OutOfGas (supplied gas 36000000)".
func withoutGas(s string) string {
	s = strings.TrimPrefix(s, "err: ")
	if at := strings.LastIndex(s, " (supplied gas "); at >= 0 {
		s = s[:at]
	}
	return s
}

func anyIn(lower string, list []string) bool {
	for _, words := range list {
		if strings.Contains(lower, words) {
			return true
		}
	}
	return false
}

var (
	// spent is how providers say that our account there has no more for now.
	spent = []string{
		"rate limit", "ratelimit", "too many requests", "request count exceeded", "requests per second", "quota",
		"compute units", "exceeded its", "request limit", "throughput", "capacity exceeded", "credits",
	}
	// locked is how they say that it has no access at all. Our clients have nothing to do
	// with that key, and must not take it for theirs.
	locked = []string{
		"api key", "api-key", "apikey", "project id", "unauthorized", "not authorized to use", "forbidden", "access denied",
		"authentication", "payment required", "billing", "upgrade your", "your plan", "free tier", "invalid token",
	}
	noSuchMethod = []string{"not found", "not available", "not supported", "unsupported", "not enabled", "does not exist", "not whitelisted", "disabled", "not implemented"}
	noState      = []string{
		"missing trie node", "historical state", "world state unavailable", "state unavailable", "state not available",
		"state is not available", "no state available", "archive state", "archive node", "archive data", "old data not available",
		"maximum proof window", "historical data", "state histories", "pruned state",
	}
)

func methodMissing(number int, lower string) bool {
	return number == numberMethodMissing || number == numberMethodDisabled ||
		strings.Contains(lower, "method") && anyIn(lower, noSuchMethod)
}

func stateMissing(number int, lower string) bool {
	return number != numberPruned && (anyIn(lower, noState) || strings.Contains(lower, "state") && strings.Contains(lower, "prun"))
}

// stateWords keeps Geth's own words, which name the root, and replaces the others'.
func stateWords(text, lower string) string {
	for _, words := range []string{"missing trie node", "historical state"} {
		if strings.HasPrefix(lower, words) {
			return cleanHashes(text)
		}
	}
	return "historical state is not available"
}

func timedOut(number int, lower string) bool {
	return number == numberTimeout || number < 0 && anyIn(lower, []string{"timeout", "timed out", "deadline exceeded", "execution aborted"})
}

// readsState tells whether a method reads the state of a block that a parameter names.
// Traces do too, and Geth has other words for them.
func readsState(row *method.Row) bool {
	return row.Needs == method.State && row.Block != method.None && !method.Traces(row.Name)
}

// unknownThing matches the ways of saying that a block or a transaction isn't there.
var unknownThing = regexp.MustCompile(`\bheader (for hash )?not found|\bunknown (block|transaction)|\b(block|transaction|receipts?|resource)\b.*\bnot (be )?found|can('t|not) find (the )?(block|header)|blockoutofrange|could not be found$|\bblock \S+ is not executed|not currently canonical`)

func meansUnknown(e *nodegate.Error) bool {
	lower := strings.ToLower(e.Msg)
	return e.Number == numberUnknownBlock || unknownThing.MatchString(lower) && !methodMissing(e.Number, lower)
}

// unknownBlock says it as Geth does, by the parameter that names the block.
func unknownBlock(params []byte, at int, lower string) string {
	var a args
	if a.split(params, len(a.store)) != nil {
		return "header not found"
	}
	b, reason := parseBlock(a.at(at))
	switch {
	case reason != "":
	case b.mustBeOnChain && strings.Contains(lower, "canonical"):
		return "hash is not currently canonical"
	case b.byHash:
		return "header for hash not found"
	case b.text == "safe" || b.text == "finalized":
		return b.text + " block not found"
	}
	return "header not found"
}

// gas that a node allows, at the end of its words for too little of it.
var allowance = regexp.MustCompile(`gas required exceeds allowance\D*(\d+)`)

// opcode of a node's words for one that doesn't exist.
var opcode = regexp.MustCompile(`(?:invalid opcode|bad instruction)\W+(?:0x)?([0-9a-f]{1,2})\b`)

// gethWords says in Geth's words what a node says in its own. Where Geth itself says
// before which step it failed, its words stay whole.
func gethWords(row *method.Row, text, lower string) (string, bool) {
	if strings.HasPrefix(lower, "err: ") || strings.HasPrefix(lower, "failed with ") {
		return text, true
	}
	if m := allowance.FindStringSubmatch(lower); m != nil {
		return "gas required exceeds allowance (" + m[1] + ")", true
	}
	if words, ok := phrase(poolWords, text, lower); ok {
		return words, true
	}
	if !readsState(row) || row.Contracts != method.CallObject {
		return "", false
	}
	if m := opcode.FindStringSubmatch(lower); m != nil {
		code, _ := strconv.ParseUint(m[1], 16, 8)
		return opcodeWords(code), true
	}
	if strings.HasPrefix(lower, outOfGas) {
		return outOfGas, true // some say where
	}
	return phrase(vmWords, text, lower)
}

const outOfGas = "out of gas"

func opcodeWords(code uint64) string {
	const designated = 0xfe // the opcode that is meant to be invalid
	if code == designated {
		return "invalid opcode: INVALID"
	}
	return "invalid opcode: opcode " + quoted(code) + " not defined"
}

// wording is a client's words, with nothing but letters and digits left of them, and
// Geth's.
type wording struct{ theirs, geth string }

// phrase finds the first wording that fits. Words that begin as Geth's stay whole:
// it says more behind them.
func phrase(list []wording, text, lower string) (string, bool) {
	squeezed := squeeze(lower)
	for _, w := range list {
		if strings.HasPrefix(lower, w.geth) {
			return w.geth + text[len(w.geth):], true
		}
		if strings.Contains(squeezed, w.theirs) {
			return w.geth, true
		}
	}
	return "", false
}

func squeeze(lower string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, lower[:min(len(lower), maxMessage)])
}
