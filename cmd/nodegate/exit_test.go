package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nodegate/nodegate"
)

func TestEveryCodeHasAnExitCode(t *testing.T) {
	for _, c := range nodegate.Codes() {
		got, ok := exitCodes[c]
		if !ok || got == 0 {
			t.Errorf("%v has no exit code", c)
		}
		if want := c == nodegate.BadConfig || c == nodegate.InvalidInput; (got == exitMistake) != want {
			t.Errorf("%v exits with %d", c, got)
		}
	}
	if len(exitCodes) != len(nodegate.Codes()) {
		t.Errorf("%d exit codes for %d codes", len(exitCodes), len(nodegate.Codes()))
	}
}

func TestExitCode(t *testing.T) {
	bad := &nodegate.Error{Code: nodegate.BadConfig, Msg: "genesis"}
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"foreign", errors.New("x"), 1},
		{"bad configuration", bad, 2},
		{"wrapped", fmt.Errorf("start: %w", bad), 2},
		{"joined with a failing close", errors.Join(bad, errors.New("close")), 2},
		{"usage", &usageError{err: errors.New("x")}, 2},
		{"a value that can't be used", &nodegate.Error{Code: nodegate.InvalidInput}, 2},
		{"a declined card", &nodegate.Error{Code: nodegate.CardDeclined}, 1},
		{"busy", &nodegate.Error{Code: nodegate.Busy}, 1},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}
