package cache

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/nodegate/nodegate"
)

// script is a node whose answers and head a test sets.
type script struct {
	mu     sync.Mutex
	head   nodegate.Head
	noHead bool
	asked  []string
	answer func(ctx context.Context, name, params string) (string, error)
}

func answering(text string) *script {
	return &script{
		head:   nodegate.Head{Number: 100, Finalized: 90, Fork: 1},
		answer: func(context.Context, string, string) (string, error) { return text, nil },
	}
}

func (s *script) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	s.mu.Lock()
	s.asked = append(s.asked, name+" "+string(params))
	answer := s.answer
	s.mu.Unlock()
	nodegate.TraceFrom(ctx).Node = "n1"
	text, err := answer(ctx, name, string(params))
	if err != nil {
		return nil, err
	}
	return []byte(text), nil
}

func (s *script) Head(context.Context) (nodegate.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noHead {
		return nodegate.Head{}, &nodegate.Error{Code: nodegate.NoNode}
	}
	return s.head, nil
}

func (s *script) setHead(h nodegate.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = h
}

func (s *script) setAnswer(text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = func(context.Context, string, string) (string, error) { return text, err }
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// ask calls and returns the answer with its trace.
func ask(t testing.TB, n nodegate.Node, name, params string) (string, nodegate.Trace) {
	t.Helper()
	var trace nodegate.Trace
	result, err := n.Call(nodegate.WithTrace(t.Context(), &trace), name, []byte(params))
	if err != nil {
		t.Fatalf("%s %s: %v", name, params, err)
	}
	return string(result), trace
}

// outcome is a trace in short: what the cache did and why.
func outcome(t nodegate.Trace) string {
	return strings.TrimSpace(t.Cache.String() + " " + t.Reason)
}

const (
	hashA = `"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	hashB = `"0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"`
)
