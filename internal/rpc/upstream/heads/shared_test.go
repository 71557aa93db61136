package heads

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// flaky is a Redis that can be away.
type flaky struct{ err error }

func (f *flaky) Raise(_ context.Context, _ string, number uint64) (uint64, error) {
	return number, f.err
}

func (f *flaky) Watch(context.Context, string, func(uint64), func(uint64)) {}

// TestSharedRecoveryIsNoWarning: that the others are away is a warning, and that they are
// back is not. Each is logged once.
func TestSharedRecoveryIsNoWarning(t *testing.T) {
	var logs bytes.Buffer
	shared := &flaky{}
	tr := New(Config{Shared: shared, Log: slog.New(slog.NewTextHandler(&logs, nil)), Changed: func() {}, Reset: func() {}})
	for _, err := range []error{nil, errors.New("refused"), errors.New("refused"), nil, nil} {
		shared.err = err
		tr.shareOne(t.Context(), &nodegate.Head{Number: 1})
	}
	lines := strings.Split(strings.TrimSpace(logs.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[1], "level=INFO") {
		t.Errorf("the log:\n%s", logs.String())
	}
}
