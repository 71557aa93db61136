package redisstore

import (
	"fmt"
	"testing"
	"time"
)

// TestPurgeAnswers: one network's answers go, or all; heads and what is not an answer stay.
func TestPurgeAnswers(t *testing.T) {
	s := startRedis(t).open()
	a := s.Answers()
	a.within = time.Minute // a busy machine is no damage
	fill := func() {
		t.Helper()
		for _, network := range []string{"main", "mainnet"} {
			for i := range 20 {
				kept(t, a, fmt.Sprintf("%s 0xabc eth_call [%d]", network, i), `"0x1"`)
			}
		}
	}
	fill()
	if _, err := s.Raise(t.Context(), "main", 7); err != nil {
		t.Fatal(err)
	}
	c := redis(t, s)
	for name, build := range map[string]func() error{
		"a list": func() error {
			return c.Do(t.Context(), c.B().Lpush().Key(prefix+"answer:list").Element("x").Build()).Error()
		},
		"too short": func() error {
			return c.Do(t.Context(), c.B().Set().Key(prefix+"answer:short").Value("ng1 ").Build()).Error()
		},
	} {
		if err := build(); err != nil {
			t.Fatal(name, err)
		}
	}
	if n, err := s.PurgeAnswers(t.Context(), "main"); err != nil || n != 20 {
		t.Errorf("main: %d, %v", n, err)
	}
	if _, ok := a.Get(t.Context(), []byte("main 0xabc eth_call [3]")); ok {
		t.Error("an answer is still there")
	}
	if _, ok := a.Get(t.Context(), []byte("mainnet 0xabc eth_call [3]")); !ok {
		t.Error("another network's answer is gone")
	}
	if n, err := s.PurgeAnswers(t.Context(), "main"); err != nil || n != 0 {
		t.Errorf("a second time: %d, %v", n, err)
	}
	if n, err := s.PurgeAnswers(t.Context(), ""); err != nil || n != 22 {
		t.Errorf("all: %d, %v", n, err)
	}
	if high, err := s.Raise(t.Context(), "main", 1); err != nil || high != 7 {
		t.Errorf("the head is %d, %v", high, err)
	}
}

// TestPurgeWithoutRedis: the command says so.
func TestPurgeWithoutRedis(t *testing.T) {
	r := startRedis(t)
	s := r.open()
	r.Stop()
	if _, err := s.PurgeAnswers(t.Context(), ""); err == nil {
		t.Error("nothing was purged, and nobody says so")
	}
}
