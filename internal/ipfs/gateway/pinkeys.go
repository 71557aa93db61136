package gateway

import (
	"bufio"
	"encoding/json"

	"github.com/nodegate/nodegate/internal/budget"
)

// pinKey is a pin in the answer of pin/ls.
type pinKey struct{ Type, Name string }

// pinKeys is the answer of pin/ls as one object. A short list is sorted and sent whole, so
// that an error can be told. What is beyond is sent as it is found: an account may have
// millions of pins.
type pinKeys struct {
	answer *answer
	hold   *budget.Hold
	first  map[string]pinKey
	out    *bufio.Writer // once the list is long
	sent   bool          // something of it was
}

// fewKeys are kept. Each takes about keyCost beside its name, its part of the answer included.
const (
	fewKeys = 4096
	keyCost = 700
)

func newPinKeys(c *call) *pinKeys {
	return &pinKeys{answer: c.answer, hold: &c.hold, first: map[string]pinKey{}}
}

func (k *pinKeys) add(id string, p pinKey) error {
	if k.out != nil {
		return k.send(id, p)
	}
	if err := holdAnswer(k.hold, keyCost+int64(len(p.Name))); err != nil {
		return err
	}
	if k.first[id] = p; len(k.first) < fewKeys {
		return nil
	}
	return k.begin()
}

// begin sends what was kept.
func (k *pinKeys) begin() error {
	k.answer.head("application/json")
	k.out = bufio.NewWriterSize(k.answer, tarBuffer)
	for id, p := range k.first {
		if err := k.send(id, p); err != nil {
			return err
		}
	}
	k.first = nil
	return nil
}

// send writes one pin of a long list.
func (k *pinKeys) send(id string, p pinKey) error {
	name, err := json.Marshal(id)
	if err != nil {
		return err
	}
	pin, err := json.Marshal(p)
	if err != nil {
		return err
	}
	before := ","
	if !k.sent {
		before, k.sent = `{"Keys":{`, true
	}
	_, err = k.out.WriteString(before + string(name) + ":" + string(pin))
	return err
}

// end sends a short list, or ends a long one.
func (k *pinKeys) end() error {
	if k.out == nil {
		return k.answer.object(struct {
			Keys map[string]pinKey `json:",omitempty"`
		}{k.first})
	}
	if _, err := k.out.WriteString("}}\n"); err != nil {
		return err
	}
	return k.out.Flush()
}
