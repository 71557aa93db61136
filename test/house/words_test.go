package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// forbiddenPhrases are phrases that readers had to guess the meaning of. Each has a
// plain word: "permanently", "in flight", "by default", "Quickstart", "Add card".
var forbiddenPhrases = []string{
	"for ever", "anew", "under way", "unless told", "is told", "lines to paste", "put a card on", "take the card off",
	"I have kept it", "half take less than", "time of a request", "the key's text", "whole entries",
	"there is nobody to ask", "shows its begin", "is another one", "moved this month", "none asked", "the service itself",
	"left alone for a while", "what keeps others out", "rooms of the house", "the way of a request", "past the door",
}

// proseFiles are the pages that people read. In Go files outside tests, all string
// literals count: errors, log messages, help texts and mails.
var proseFiles = []string{
	"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "deploy/README.md", "bench/README.md", "internal/dashboard/pages/*.html",
}

// phrasePattern finds the phrases in either case, also where a line breaks within one.
var phrasePattern = func() *regexp.Regexp {
	var all []string
	for _, p := range forbiddenPhrases {
		all = append(all, strings.ReplaceAll(regexp.QuoteMeta(p), " ", `(?:[ \t]+|[ \t]*\n[ \t]*)`))
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}()

// phrases lists the forbidden phrases of a text, each with its line; the text begins
// at the line first.
func phrases(text string, first int) (found []string) {
	text = strings.NewReplacer("’", "'", "&rsquo;", "'", "&#39;", "'", "&nbsp;", " ").Replace(text)
	for _, at := range phrasePattern.FindAllStringIndex(text, -1) {
		phrase := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
		found = append(found, fmt.Sprintf("%d: %q", first+strings.Count(text[:at[0]], "\n"), phrase))
	}
	return found
}

// literalPhrases lists the forbidden phrases in the string literals of a file.
func literalPhrases(s source) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil {
			found = append(found, phrases(text, s.fset.Position(literal.Pos()).Line)...)
		}
		return true
	})
	return found
}

// TestForbiddenPhrases keeps private phrases out of docs, pages and all strings of programs.
func TestForbiddenPhrases(t *testing.T) {
	read := 0
	for _, pattern := range proseFiles {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is like %s (%v): the test looks in the wrong place", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			read++
			for _, found := range phrases(string(text), 1) {
				t.Errorf("%s:%s: use a plain word", strings.TrimPrefix(filepath.ToSlash(file), "../../"), found)
			}
		}
	}
	for _, s := range sources(t) {
		read++
		for _, found := range literalPhrases(s) {
			t.Errorf("%s:%s: use a plain word", s.path, found)
		}
	}
	if read < 600 {
		t.Errorf("only %d files were read: the test looks in the wrong place", read)
	}
}

// TestPhrases holds the search itself to examples.
func TestPhrases(t *testing.T) {
	for text, want := range map[string]int{
		"Ends a key for ever.":                   1,
		"waits for everything":                   0,
		"one\nis under\n  way, and For Ever too": 2,
		"for\n\never":                            0,
		"the key’s text, the key&#39;s text":     2,
		"lines to pasted, renews":                0,
	} {
		if got := phrases(text, 1); len(got) != want {
			t.Errorf("%q has %q, want %d", text, got, want)
		}
	}
	if got := phrases("one\ntwo\nis told", 10); len(got) != 1 || got[0] != `12: "is told"` {
		t.Errorf("the place of a phrase is %q", got)
	}
}
