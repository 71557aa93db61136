package redisstore

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate/test/full"
)

// soon waits until something holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within a minute: %s", what)
}

// kept puts an answer and waits until it can be read.
func kept(t *testing.T, a *Answers, key, result string) {
	t.Helper()
	soon(t, "the answer is in Redis", func() bool {
		a.Put([]byte(key), []byte(result))
		got, ok := a.Get(t.Context(), []byte(key))
		return ok && string(got) == result
	})
}

func TestAnswers(t *testing.T) {
	r := startRedis(t)
	s := r.open()
	one, other := s.Answers(), r.open().Answers()
	kept(t, one, "net eth_call [1]", `"0x1"`)
	soon(t, "another server reads it", func() bool {
		got, ok := other.Get(t.Context(), []byte("net eth_call [1]"))
		return ok && string(got) == `"0x1"`
	})
	for _, key := range []string{"", "net eth_call [2]", "net eth_call [1] "} {
		if got, ok := one.Get(t.Context(), []byte(key)); ok {
			t.Errorf("%q has %s", key, got)
		}
	}
	large := strings.Repeat("a", largestAnswer)
	one.Put([]byte("large"), []byte(large))
	kept(t, one, "fits", large[:largestAnswer-len("fits")])
	if _, ok := one.Get(t.Context(), []byte("large")); ok {
		t.Error("a value over the bound was kept")
	}
	names, err := redis(t, s).Do(t.Context(), redis(t, s).B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(names) != 2 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		ttl, err := redis(t, s).Do(t.Context(), redis(t, s).B().Ttl().Key(name).Build()).AsInt64()
		if err != nil || ttl <= 0 || ttl > int64(answersKept/time.Second) || !strings.HasPrefix(name, prefix+"answer:") {
			t.Errorf("%s expires in %d s, %v", name, ttl, err)
		}
	}
}

// TestDamagedAnswers: whatever else stands in Redis under the name is a miss.
func TestDamagedAnswers(t *testing.T) {
	s := startRedis(t).open()
	a, key := s.Answers(), []byte("net eth_call [1]")
	a.within = time.Minute // a busy machine is no damage
	good := pack(key, []byte(`"0x1"`))
	put := func(value []byte) {
		t.Helper()
		if err := redis(t, s).Do(t.Context(), redis(t, s).B().Set().Key(answerName(key)).Value(rueidis.BinaryString(value)).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	put(good)
	if got, ok := a.Get(t.Context(), key); !ok || string(got) != `"0x1"` {
		t.Fatalf("the good one: %s, %v", got, ok)
	}
	bad := [][]byte{nil, []byte("x"), []byte(`"0x1"`), good[1:], good[:len(good)-1], append(bytes.Clone(good), 0),
		pack([]byte("net eth_call [2]"), []byte(`"0x1"`)), pack(key, nil), pack([]byte("net eth_call "), []byte(`[1]"0x1"`)),
		bytes.Repeat([]byte("x"), 3*largestAnswer)}
	for i := range good {
		flipped := bytes.Clone(good)
		flipped[i] ^= 1
		bad = append(bad, flipped)
	}
	for _, value := range bad {
		put(value)
		if got, ok := a.Get(t.Context(), key); ok {
			t.Errorf("%.80q was taken for %s", value, got)
		}
	}
	if err := redis(t, s).Do(t.Context(), redis(t, s).B().Del().Key(answerName(key)).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := redis(t, s).Do(t.Context(), redis(t, s).B().Lpush().Key(answerName(key)).Element("x").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for range 2 * faultsInRow {
		if _, ok := a.Get(t.Context(), key); ok {
			t.Error("a list was taken for an answer")
		}
	}
	if a.resume.Load() != 0 {
		t.Error("a Redis that answers was left alone")
	}
}

// TestHungAnswers: each of the first calls loses a moment, the next ones nothing, and
// when Redis goes on it is used again.
func TestHungAnswers(t *testing.T) {
	full.Slow(t)
	r := startRedis(t)
	a := r.open().Answers()
	kept(t, a, "k", "v")
	r.Pause()
	asked, begin := 0, time.Now()
	for time.Since(begin) < leftAlone-time.Second {
		if _, ok := a.Get(t.Context(), []byte("k")); ok {
			t.Fatal("a Redis that stands still answered")
		}
		if a.resume.Load() == 0 {
			asked++
		}
		a.Put([]byte("k"), []byte("v"))
		time.Sleep(time.Millisecond)
	}
	if asked >= faultsInRow || a.resume.Load() == 0 {
		t.Errorf("%d calls failed and Redis is still asked", asked)
	}
	begin = time.Now()
	for range 1000 {
		a.Get(t.Context(), []byte("k"))
	}
	if took := time.Since(begin); took > leftAlone/2 {
		t.Errorf("1,000 calls to a Redis that is left alone took %v", took)
	}
	r.Resume()
	soon(t, "Redis is used again", func() bool {
		got, ok := a.Get(t.Context(), []byte("k"))
		return ok && string(got) == "v"
	})
}

// TestGoneCaller: a caller that goes away says nothing about Redis.
func TestGoneCaller(t *testing.T) {
	a := startRedis(t).open().Answers()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * faultsInRow {
		a.Get(ctx, []byte("k"))
	}
	if a.faults.Load() != 0 || a.resume.Load() != 0 {
		t.Errorf("%d faults", a.faults.Load())
	}
}

// FuzzUnpack: only what pack made for a key is an answer to it.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("k"), pack([]byte("k"), []byte("v")))
	f.Add([]byte(""), []byte(mark))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if got, ok := unpack(value, key); ok && !bytes.Equal(pack(key, got), value) {
			t.Errorf("%q is an answer to %q: %q", value, key, got)
		}
		if got, ok := unpack(pack(key, value), key); ok != (len(value) > 0) || !bytes.Equal(got, value) && ok {
			t.Errorf("%q was lost: %q, %v", value, got, ok)
		}
	})
}
