package dashboard

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var markup = regexp.MustCompile(`<span class="j-(name|text|value)">|</span>`)

// TestHighlight: names, strings and values have their colors, and what looks like markup is
// text.
func TestHighlight(t *testing.T) {
	got := string(highlight("{\n  \"a\\\"<b>\": [1, -2.5e3, true, null, \"x: y\"]\n}"))
	want := "{\n  <span class=\"j-name\">&#34;a\\&#34;&lt;b&gt;&#34;</span>: [<span class=\"j-value\">1</span>, <span class=\"j-value\">-2.5e3</span>, <span class=\"j-value\">true</span>, " +
		"<span class=\"j-value\">null</span>, <span class=\"j-text\">&#34;x: y&#34;</span>]\n}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if long := strings.Repeat(`"a" `, maxHighlighted/4+1); strings.Contains(string(highlight(long)), "<") {
		t.Error("a long text is colored")
	}
}

// TestHighlightText: whatever the text, it is all there and nothing of it is markup.
func TestHighlightText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("\"\\{}[]:, \n<>&'-0tfnü"))).Draw(rt, "text")
		plain := markup.ReplaceAllString(string(highlight(text)), "")
		if strings.ContainsAny(plain, "<>\"") || html.UnescapeString(plain) != text {
			rt.Fatalf("%q becomes %q", text, plain)
		}
	})
}
