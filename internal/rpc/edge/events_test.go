package edge

import (
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// queueOf is a queue that counts what it asks for.
func queueOf(limit int) (q *eventQueue, started, overflown *int) {
	q, started, overflown = &eventQueue{limit: limit}, new(int), new(int)
	q.start = func() { *started++ }
	q.overflow = func() { *overflown++ }
	return q, started, overflown
}

// taken is what a queue gives, with the frames' heads left out.
func taken(q *eventQueue) string {
	b := q.take(nil, 1<<20)
	frames, size := b.frames, b.size
	text := ""
	for len(frames) > 0 {
		n := int(frames[1])
		_, event, _ := strings.Cut(string(frames[2:2+n]), `"result":`)
		text += strings.TrimSuffix(event, "}}") + " "
		size -= n
		frames = frames[2+n:]
	}
	if size != 0 {
		text += "of another size"
	}
	return strings.TrimSpace(text)
}

func begun(q *eventQueue, id string, overhead int) *subscription {
	sub := &subscription{id: id, overhead: overhead}
	q.begin(sub)
	return sub
}

// envelopeBytes are those of a notification with an id of one letter, without the event.
const envelopeBytes = len(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"a","result":}}`)

func TestEventQueue(t *testing.T) {
	q, started, overflown := queueOf(2 * (envelopeBytes + 4))
	sub := begun(q, "a", envelopeBytes)
	q.put(sub, []byte("1111"))
	q.put(sub, []byte("2222"))
	if *started != 1 {
		t.Errorf("%d senders were started", *started)
	}
	if got := taken(q); got != "1111 2222" {
		t.Errorf("took %s", got)
	}
	if got := taken(q); got != "" {
		t.Errorf("took %s again", got)
	}
	q.put(sub, []byte("3333"))
	if *started != 2 {
		t.Errorf("%d senders: one must begin again", *started)
	}
	q.put(sub, []byte("4444"))
	if *overflown != 0 || q.ended {
		t.Error("the queue is full, not too full")
	}
}

// TestEventQueueOverflow stays overflown: an event is missing from then on. Nothing of
// it is held any longer.
func TestEventQueueOverflow(t *testing.T) {
	q, _, overflown := queueOf(10)
	sub := begun(q, "a", 0)
	q.put(sub, []byte("0123456789"))
	for range 3 {
		q.put(sub, []byte("1"))
	}
	if got := taken(q); *overflown != 1 || got != "" || q.list != nil {
		t.Errorf("told of %d times, holds %q", *overflown, got)
	}
	q, _, overflown = queueOf(10)
	q.put(begun(q, "a", 0), make([]byte, 11))
	if *overflown != 1 {
		t.Error("one event larger than the limit was taken")
	}
	q, _, overflown = queueOf(10)
	held := &subscription{id: "a"}
	for range 11 {
		q.put(held, []byte("1"))
	}
	if *overflown != 1 {
		t.Error("what is held before the id is told has no limit")
	}
}

// TestEventQueueBegin: what came before the id was told follows it, and comes first.
func TestEventQueueBegin(t *testing.T) {
	q, started, _ := queueOf(1 << 20)
	sub := &subscription{id: "a", overhead: envelopeBytes}
	q.put(sub, []byte("1"))
	q.put(sub, []byte("2"))
	if *started != 0 {
		t.Error("events are sent before the id")
	}
	q.begin(sub)
	q.put(sub, []byte("3"))
	if got := taken(q); got != "1 2 3" || *started != 1 {
		t.Errorf("took %s from %d senders", got, *started)
	}
}

// TestEventQueueDrop: an ended subscription is silent, and its events take no room.
func TestEventQueueDrop(t *testing.T) {
	q, _, _ := queueOf(1 << 20)
	gone, held, kept := begun(q, "a", envelopeBytes), &subscription{id: "b"}, begun(q, "c", envelopeBytes)
	q.put(gone, []byte("1"))
	q.put(held, []byte("2"))
	q.put(kept, []byte("3"))
	q.drop(gone)
	q.drop(held)
	q.put(gone, []byte("4"))
	if got := taken(q); got != "3" || q.bytes != 0 {
		t.Errorf("took %s, %d bytes are left", got, q.bytes)
	}
	q.lose(gone, func() { t.Error("the end of an ended subscription is a loss") })
	told := 0
	for range 2 {
		q.lose(kept, func() { told++ })
	}
	if told != 1 {
		t.Errorf("a loss was told %d times", told)
	}
}

// TestEventQueueShares: a queue refers to an event, and copies it only to send it.
func TestEventQueueShares(t *testing.T) {
	event := make([]byte, 1<<10)
	a, _, _ := queueOf(1 << 20)
	b, _, _ := queueOf(1 << 20)
	a.put(begun(a, "a", 0), event)
	b.put(begun(b, "b", 0), event)
	if &a.list[0].event[0] != &b.list[0].event[0] {
		t.Error("the event was copied")
	}
}

// TestEventQueueParts: no more events are taken at once than a full bucket pays for, and
// one at least.
func TestEventQueueParts(t *testing.T) {
	q, _, _ := queueOf(1 << 20)
	sub := begun(q, "a", envelopeBytes)
	for range 5 {
		q.put(sub, []byte("1"))
	}
	g := NewTestGrant("k", nodegate.Policy{Plan: nodegate.Plan{CreditsPerSecond: 1, Burst: 25}})
	for _, want := range []int{2, 2, 1, 0} {
		if b := q.take(nil, affordable(g, 10)); b.count != want || q.sending != (want > 0) {
			t.Errorf("took %d, want %d", b.count, want)
		}
	}
	if affordable(g, 30) != 1 || affordable(g, 0) < 1<<30 {
		t.Error("a dear event is never taken, or a free one is counted")
	}
}
