package pool

import (
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// nodeError is a node's error, read with care: contracts choose the reason of a revert, tracers
// are programs that throw what they want, and nodes repeat what a call asks for. None of that
// may decide about a node, which serves all callers.
type nodeError struct {
	*client.CallError
	query *query
	text  string // the message in lower case
	asked string // see request
}

func newNodeError(q *query, e *client.CallError) *nodeError {
	return &nodeError{CallError: e, query: q, text: strings.ToLower(e.Message)}
}

// executionNumbers are the numbers under which nodes report what became of an execution. Most
// nodes also use them for everything else.
var executionNumbers = []int{
	0, numberReverted, -32000, // Geth, Reth, Erigon, Besu, Ganache
	-32003, -32010, // transactions that are refused: Reth, Besu
	-32015, // Nethermind, OpenEthereum
	-32603, // Hardhat, Frontier
}

// limitNumbers are the numbers that mean a limit of the node, whatever the text says.
var limitNumbers = []int{429, -32029}

// executed tells whether an error is the outcome of code that the node ran for the caller.
func (r *nodeError) executed() bool {
	if !r.query.info.RunsCode() {
		return false
	}
	return r.Code == numberReverted || hasRevertData(r.Data) || contains(r.text, reasonWords)
}

// hasRevertData tells whether an error has bytes for its data, as only a revert has.
func hasRevertData(data []byte) bool {
	const empty = len(`"0x"`)
	return len(data) > empty && hexjson.IsData(data)
}

// unsure tells whether the text may be what the caller's code says, although it doesn't look
// like it: not every node says which texts are.
func (r *nodeError) unsure() bool {
	return r.query.info.RunsCode() && slices.Contains(executionNumbers, r.Code) || r.query.hasProgram()
}

// limits tells whether the node wants to be left alone for a while.
func (r *nodeError) limits() bool {
	if slices.Contains(limitNumbers, r.Code) {
		return true
	}
	return !r.unsure() && r.Code != numberInvalidParams && r.says(limitWords)
}

// lacksMethod tells whether an error says that the node doesn't offer the method. Some
// say so under the number for everything, Alchemy and plans of providers for example.
func (r *nodeError) lacksMethod() bool {
	if r.Code == numberMethodMissing || r.Code == numberMethodDisabled {
		return true
	}
	return r.Code != numberInvalidParams && r.says(methodWord) && r.says(noMethodWords)
}

// prunes tells whether an error says that the node no longer keeps what the call asks for.
func (r *nodeError) prunes() bool { return r.Code == numberPruned || r.says(prunedWords) }

// says tells whether the text has one of the words, unless the call has that word too: then the
// node may be repeating it.
func (r *nodeError) says(words []string) bool {
	for _, w := range words {
		if strings.Contains(r.text, w) && !strings.Contains(r.request(), w) {
			return true
		}
	}
	return false
}

// request is what the call says, as one text in lower case.
func (r *nodeError) request() string {
	if r.asked == "" {
		r.asked = r.query.words()
	}
	return r.asked
}

// words are the method and all strings of the parameters but hex, in lower case.
func (q *query) words() string {
	var b strings.Builder
	b.WriteString(q.method)
	jsonrpc.Strings(q.params, func(token []byte) {
		if hexjson.IsData(token) {
			return
		}
		s, _ := jsonrpc.String(token)
		b.WriteByte(' ')
		b.Write(s)
	})
	return strings.ToLower(b.String())
}

// hasProgram tells whether a call for a trace brings a tracer that is a program. The names of
// built-in ones, and all other parameters, are single words.
func (q *query) hasProgram() (found bool) {
	if q.class != traces {
		return false
	}
	jsonrpc.Strings(q.params, func(token []byte) {
		found = found || strings.ContainsFunc(string(token[1:len(token)-1]), func(c rune) bool { return !wordLetter(c) })
	})
	return found
}

func wordLetter(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}
