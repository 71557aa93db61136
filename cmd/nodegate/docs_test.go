package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommandPage holds docs/cli.md to the commands: each has its place in the table, and
// nothing else is there.
func TestCommandPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newParser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, n := range leaves(parser.Model.Node) {
		want = append(want, commandWords(n))
	}
	var got []string
	code := regexp.MustCompile("`([^`]+)`")
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| `nodegate ") {
			continue
		}
		group := ""
		for _, m := range code.FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			words, isWhole := strings.CutPrefix(m[1], "nodegate ")
			if !isWhole {
				words = group + " " + words
			}
			group, _, _ = strings.Cut(words, " ")
			got = append(got, words)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the page has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
