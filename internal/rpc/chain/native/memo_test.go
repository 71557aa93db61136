package native

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/maypok86/otter/v2"
)

func TestMemo(t *testing.T) {
	m, err := newMemo(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	blk, other := common.HexToHash("0x1"), common.HexToHash("0x2")
	key := m.key(memoCall, blk, []byte("{}"))
	m.put(key, []byte("result"))
	if got, ok := m.get(key); !ok || string(got) != "result" {
		t.Errorf("%q, %v", got, ok)
	}
	for _, different := range []string{m.key(memoEstimate, blk, []byte("{}")), m.key(memoCall, other, []byte("{}")), m.key(memoCall, blk, []byte("{ }"))} {
		if _, ok := m.get(different); ok {
			t.Errorf("%q is another call", different)
		}
	}
}

// Large calls and large results are not remembered: a few would fill it.
func TestMemoRefusesLarge(t *testing.T) {
	m, err := newMemo(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if key := m.key(memoCall, common.Hash{}, make([]byte, maxMemoKey+1)); key != "" {
		t.Error("a large call has a key")
	}
	m.put("", []byte("x"))
	if _, ok := m.get(""); ok {
		t.Error("what has no key was remembered")
	}
	m.put("key", make([]byte, maxMemoResult+1))
	if _, ok := m.get("key"); ok {
		t.Error("a large result was remembered")
	}
}

// The memo stays within its budget, whatever is put in.
func TestMemoIsBounded(t *testing.T) {
	const budget = 100_000
	m, err := newMemo(budget)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		m.put(m.key(memoCall, hashedKey(i), []byte("{}")), bytes.Repeat([]byte{1}, 500))
	}
	cache := m.cache.(*otter.Cache[string, []byte])
	cache.CleanUp()
	if got := cache.WeightedSize(); got > budget {
		t.Errorf("it weighs %d, at most %d", got, budget)
	}
}
