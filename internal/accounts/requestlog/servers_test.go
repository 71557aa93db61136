package requestlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestEverywhere: a page over two servers has the newest entries of both, and counts what
// both keep. A server that does not answer is counted, and what this one keeps is there.
func TestEverywhere(t *testing.T) {
	far := New(Config{})
	defer far.Close()
	var silent int
	var broken error
	near := New(Config{Ask: func(_ context.Context, question []byte) ([][]byte, int, error) {
		if broken != nil {
			return nil, 0, broken
		}
		return [][]byte{far.Answer(question)}, silent, nil
	}})
	defer near.Close()
	begin := time.Now().Add(-time.Minute)
	k := newKey("a", "k")
	k.keep(true, true)
	for i := range 6 {
		e := answered(fmt.Sprint("eth_m", i))
		e.At, e.Reply = begin.Add(time.Duration(i)*time.Second), []byte("{}")
		if i%2 == 0 {
			near.Record(k.Grant, e)
		} else {
			far.Record(k.Grant, e)
		}
	}
	far.Record(newKey("b", "kb").Grant, answered("eth_secret"))
	far.Record(newKey("a", "other").Grant, failed("eth_other", "no"))

	p, missing := near.Everywhere(t.Context(), "a", "k", Filter{Limit: 4})
	if got := methodsOf(p); missing != 0 || !slices.Equal(got, []string{"eth_m5", "eth_m4", "eth_m3", "eth_m2"}) {
		t.Errorf("%d servers are missing, got %v", missing, got)
	}
	if e := p.Entries[0]; string(e.Params) != `["0x1"]` || string(e.Reply) != "{}" || e.KeyID != "k" || !e.At.Equal(begin.Add(5*time.Second)) {
		t.Errorf("the other server's entry is %+v", e)
	}
	if p.Kept != 6 || p.Passed != 6 || p.Failed != 0 || !p.Oldest.Equal(begin) || len(p.Methods) != 6 {
		t.Errorf("got %+v", p)
	}
	if p, _ := near.Everywhere(t.Context(), "a", "", Filter{}); p.Kept != 7 || p.Failed != 1 || slices.Contains(p.Methods, "eth_secret") {
		t.Errorf("got %+v", p)
	}
	silent = 1
	if p, missing := near.Everywhere(t.Context(), "a", "k", Filter{}); missing != 1 || p.Kept != 6 {
		t.Errorf("one is silent: %d missing, %d entries", missing, p.Kept)
	}
	broken = errors.New("no Redis")
	if p, missing := near.Everywhere(t.Context(), "a", "k", Filter{}); missing != 1 || p.Kept != 3 {
		t.Errorf("nobody can be asked: %d missing, %d entries", missing, p.Kept)
	}
}

// TestNoQuestion: what is none has no answer, and one without an account is none.
func TestNoQuestion(t *testing.T) {
	j := New(Config{})
	defer j.Close()
	j.Record(newKey("", "k").Grant, answered("eth_call"))
	for _, text := range []string{"", "{", "5", "{}", `{"Key":"k"}`} {
		if got := j.Answer([]byte(text)); got != nil {
			t.Errorf("%q is answered with %s", text, got)
		}
	}
}
