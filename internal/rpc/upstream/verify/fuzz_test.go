package verify

import (
	"bytes"
	"slices"
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

// FuzzLies: whatever digit of a covered field of an honest answer is changed, the lie is found.
func FuzzLies(f *testing.F) {
	c := New("")
	byNumber := known(f, c)
	all := samples()
	for i := range all {
		f.Add(uint(i), uint(i*7), uint(i), byte(1))
	}
	f.Fuzz(func(t *testing.T, which, field, place uint, by byte) {
		s := &all[which%uint(len(all))]
		list := hexTokens(s.result)
		if len(list) == 0 {
			return
		}
		tok := list[field%uint(len(list))]
		if slices.Contains(unshown[s.name], tok.path) || tok.start == tok.end {
			return
		}
		lied := bytes.Clone(s.result)
		at := tok.start + int(place%uint(tok.end-tok.start))
		old := values[lied[at]]
		lied[at] = "0123456789abcdef"[(old+1+by%15)%16]
		a := s.ask()
		a.ByNumber = byNumber
		if _, found := c.Check(a, lied); found == nil {
			t.Errorf("%s: %s is not found at digit %d", s.String(), tok.path, at-tok.start)
		}
	})
}

// FuzzCheck: no bytes upset the checks.
func FuzzCheck(f *testing.F) {
	c := New("")
	byNumber := known(f, c)
	for _, s := range samples() {
		f.Add(s.name, s.params, s.result)
	}
	f.Add("eth_getLogs", `[{"topics":[[null]]}]`, []byte(`[{"topics":["\"]`))
	f.Fuzz(func(_ *testing.T, name, params string, result []byte) {
		s := sample{name, params, result}
		a := s.ask()
		a.ByNumber = byNumber
		if a.Row != nil && len(result) > 0 && a.Row.Answer != method.AnyAnswer {
			c.Check(a, result)
		}
		_, _ = c.Read(result)
	})
}
