package logrange

import "strings"

// Kind is what a node limits.
type Kind uint8

// The kinds of caps.
const (
	None    Kind = iota // the error is about something else
	Blocks              // how many blocks a query may span, whatever it finds
	Results             // how many logs, or bytes of them, this query may find
	Time                // how long this query may take
)

// Cap is a node's refusal of a log query that a narrower range would get past.
type Cap struct {
	Kind   Kind
	Blocks uint64 // the most blocks that the node says it allows; 0 if it doesn't say
	Try    *Span  // a range that the node says would work; nil if it doesn't say
}

// longest is how much of an error's text is read. The known wordings are shorter.
const longest = 1024

// Classify reads an error's text. Nothing in it is trusted: the numbers may be any.
func Classify(message string) Cap {
	t := simplify(message[:min(len(message), longest)])
	for _, w := range wordings {
		if at := strings.Index(t.words, w.words()); at >= 0 {
			return Cap{Kind: w.kind, Blocks: t.number(at, w.text), Try: t.suggestion()}
		}
	}
	return Cap{}
}

// Worded tells whether any text, also a long one, has the words of a refusal.
func Worded(text string) bool {
	t := simplify(text)
	for _, w := range wordings {
		if strings.Contains(t.words, w.words()) {
			return true
		}
	}
	return false
}

// number is the value of the N in a wording that was found in the text; 0 if there is none.
func (t *text) number(at int, wording string) uint64 {
	head, _, ok := strings.Cut(wording, "N")
	if !ok {
		return 0
	}
	return t.values[strings.Count(t.words[:at], "#")+strings.Count(head, "#")]
}

// suggestions are how nodes introduce a range that would work.
var suggestions = []string{
	"range should work: [#, #]", "range should work: [#,#]", // Alchemy
	"with this block range [#, #]", "with this block range [#,#]", // Infura, zkSync, Tenderly
	"retry with the range #-#",   // Reth
	"try fromblock #, toblock #", // nodegate
}

// suggestion is the range that the text suggests.
func (t *text) suggestion() *Span {
	for _, s := range suggestions {
		at := strings.Index(t.words, s)
		if at < 0 {
			continue
		}
		first := strings.Count(t.words[:at], "#")
		if from, to := t.values[first], t.values[first+1]; from <= to {
			return &Span{from, to}
		}
	}
	return nil
}
