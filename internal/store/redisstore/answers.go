package redisstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// The bounds of the second cache level.
const (
	answerWithin  = 30 * time.Millisecond // a slower Redis is no help
	answersKept   = 24 * time.Hour
	largestAnswer = 1 << 20 // key and answer together
	answersQueued = 64      // waiting to be written
	faultsInRow   = 5       // and Redis is left alone
	leftAlone     = 2 * time.Second
)

// Answers keeps answers of nodes for all servers: the cache's second level. It is
// made by Store.Answers.
type Answers struct {
	store  *Store
	within time.Duration // for one answer of Redis; tests give it more
	puts   chan entry
	pause
}

type entry struct {
	name  string
	value []byte
}

// Answers starts the second cache level, once for a store. It ends with the store.
func (s *Store) Answers() *Answers {
	a := &Answers{store: s, within: answerWithin, puts: make(chan entry, answersQueued), pause: pause{after: faultsInRow, rest: leftAlone}}
	s.ended.Go(a.write)
	return a
}

// Get returns the answer that was put under exactly this key. A Redis that is away or
// slow, and a value that is damaged or somebody else's, are a miss.
func (a *Answers) Get(ctx context.Context, key []byte) (result []byte, ok bool) {
	if len(key) > largestAnswer || !a.allowed() {
		return nil, false
	}
	client, err := a.store.connected("redisstore.answer")
	if err != nil {
		return nil, false
	}
	within, cancel := context.WithTimeout(ctx, a.within)
	defer cancel()
	// A range, so that a foreign value of any size costs no more than one of ours.
	value, err := client.Do(within, client.B().Getrange().Key(answerName(key)).Start(0).End(int64(largestAnswer+frame)).Build()).AsBytes()
	if ctx.Err() == nil { // a caller that went away says nothing about Redis
		a.note(err)
	}
	if err != nil {
		return nil, false
	}
	return unpack(value, key)
}

// Put keeps an answer for a day, or drops it when too many wait to be written.
func (a *Answers) Put(key, result []byte) {
	if len(key)+len(result) > largestAnswer || a.resting() {
		return
	}
	select {
	case a.puts <- entry{answerName(key), pack(key, result)}:
	default:
	}
}

// write brings what was put to Redis, one after the other.
func (a *Answers) write() {
	for {
		select {
		case <-a.store.ending.Done():
			return
		case e := <-a.puts:
			a.set(e)
		}
	}
}

func (a *Answers) set(e entry) {
	client, err := a.store.connected("redisstore.answer")
	if err != nil || !a.allowed() {
		return
	}
	ctx, cancel := context.WithTimeout(a.store.ending, a.within)
	defer cancel()
	err = client.Do(ctx, client.B().Set().Key(e.name).Value(rueidis.BinaryString(e.value)).Ex(answersKept).Build()).Error()
	if a.store.ending.Err() == nil {
		a.note(err)
	}
}

func answerName(key []byte) string {
	sum := sha256.Sum256(key)
	return prefix + "answer:" + hex.EncodeToString(sum[:16])
}

// A value is a mark, the key's length, the key, the answer, and a checksum of it all.
const (
	mark     = "ng1 "
	checksum = 16
	frame    = len(mark) + 4 + checksum
)

func pack(key, result []byte) []byte {
	v := append(slices.Grow(packed(key), len(result)+checksum), result...)
	sum := sha256.Sum256(v)
	return append(v, sum[:checksum]...)
}

// packed is how the values of a key begin.
func packed(key []byte) []byte {
	v := append(make([]byte, 0, frame+len(key)), mark...)
	return append(binary.BigEndian.AppendUint32(v, uint32(len(key))), key...)
}

// unpack returns the answer of a value that is whole and of this key.
func unpack(value, key []byte) (result []byte, ok bool) {
	if len(value) <= frame+len(key) || string(value[:len(mark)]) != mark {
		return nil, false
	}
	body := value[:len(value)-checksum]
	sum := sha256.Sum256(body)
	if !bytes.Equal(sum[:checksum], value[len(body):]) || binary.BigEndian.Uint32(body[len(mark):]) != uint32(len(key)) {
		return nil, false
	}
	rest, found := bytes.CutPrefix(body[len(mark)+4:], key)
	return rest, found
}
