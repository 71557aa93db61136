package verify

import (
	"reflect"
	"testing"
)

// proofs are the samples that are proofs, with the root that they lead to.
func proofs(t *testing.T, c *Checker) (list []sample, roots [][32]byte) {
	t.Helper()
	byNumber := known(t, c)
	for _, s := range samples() {
		if s.name != "eth_getProof" {
			continue
		}
		a := s.ask()
		h := byNumber(a.Number)
		if a.Hash != nil {
			var hash [32]byte
			fixed(hash[:], a.Hash)
			h = c.Header(hash)
		}
		list, roots = append(list, s), append(roots, h.StateRoot)
	}
	return list, roots
}

// TestProve: a proof shows what it proves. With any one value changed it shows the same, or
// doesn't hold.
func TestProve(t *testing.T) {
	c := New("")
	list, roots := proofs(t, c)
	slots, absent, refused := 0, 0, 0
	for i, s := range list {
		a, shown, err := c.Prove(roots[i], s.ask().Params, s.result)
		if err != nil {
			t.Fatalf("%s: %v", s.String(), err)
		}
		if slots += len(shown); a == (Account{Code: NoCode, Storage: NoStorage}) {
			absent++
		}
		if _, _, err := c.Prove([32]byte{1}, s.ask().Params, s.result); err == nil {
			t.Errorf("%s leads to another root", s.String())
		}
		for _, token := range hexTokens(s.result) {
			b, others, err := c.Prove(roots[i], s.ask().Params, lie(s.result, token))
			if err != nil {
				refused++
			} else if a != b || !reflect.DeepEqual(shown, others) {
				t.Errorf("%s: a lie in %s holds, and shows %+v %x", s.String(), token.path, b, others)
			}
		}
	}
	if slots == 0 || absent == 0 || refused == 0 {
		t.Errorf("%d slots, %d absent accounts and %d lies that are refused in %d proofs", slots, absent, refused, len(list))
	}
}

// TestExceptedProof: a proof that two nodes agree on although it doesn't hold is not one that
// has held.
func TestExceptedProof(t *testing.T) {
	c := New("")
	byNumber := known(t, c)
	for _, s := range samples() {
		a := s.ask()
		if s.name != "eth_getProof" || !a.Exact {
			continue
		}
		a.ByNumber = byNumber
		tokens := hexTokens(s.result)
		for _, token := range tokens {
			_, f := c.Check(a, lie(s.result, token))
			if f == nil || f.Kind != Proof || !c.Except(f) {
				continue
			}
			if held, f := c.Check(a, lie(s.result, token)); f != nil || held.Has(Proof) {
				t.Errorf("%s: a lie in %s is %v, and has passed %b", s.String(), token.path, f, held)
			}
			return
		}
	}
	t.Error("there is no proof to lie about")
}
