package main

import (
	"slices"
	"strings"
)

// confirmed is the flag of commands that can't be undone.
type confirmed struct {
	Yes bool `help:"Don't ask for confirmation."`
}

// confirm asks whoever sits at a terminal. Scripts have said what they mean.
//
// Returns InvalidInput for anything but yes.
func (f confirmed) confirm(a *app, question string) error {
	if f.Yes || a.stdin.terminal() == nil {
		return nil
	}
	answer, err := a.stdin.ask(a.stderr, question+"? [y/N]", false)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return invalid("nothing was changed")
	}
	return nil
}
