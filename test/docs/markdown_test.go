package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// page is one document, split into its lines and fenced blocks.
type page struct {
	path     string // from the repository's root
	lines    []string
	blocks   []block
	headings []heading
}

// block is one fenced block.
type block struct {
	lang    string
	text    string
	from    int // index of the line after the opening fence
	to      int // index of the closing fence
	section string
	varies  bool
	status  int // expected HTTP status, 0 when nothing was said
}

// heading is a title with the anchor that it makes.
type heading struct{ text, anchor string }

// pages reads the documents whose examples and links are checked.
func pages(t *testing.T) []*page {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) < 4 {
		t.Fatalf("found only %d pages in docs (%v): the test looks in the wrong place", len(docs), err)
	}
	var list []*page
	for _, file := range append([]string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}, docs...) {
		list = append(list, readPage(t, file))
	}
	return list
}

func readPage(t *testing.T, file string) *page {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{path: filepath.ToSlash(rel), lines: strings.Split(string(data), "\n")}
	if open := p.parse(); open {
		t.Fatalf("%s: the last fenced block is not closed", p.path)
	}
	return p
}

// parse finds blocks and headings. It reports whether a block is left open.
func (p *page) parse() (open bool) {
	var b *block
	var next block // what comments say about the block to come
	section := ""
	for i, line := range p.lines {
		fence, lang := strings.HasPrefix(line, "```"), strings.TrimPrefix(line, "```")
		switch {
		case b != nil && fence:
			b.to = i
			b.text = strings.Join(p.lines[b.from:i], "\n")
			p.blocks = append(p.blocks, *b)
			b, next = nil, block{}
		case b != nil:
		case fence:
			next.lang, next.from, next.section = lang, i+1, section
			b = &next
		case strings.HasPrefix(line, "<!--"):
			next.directive(line)
		case strings.HasPrefix(line, "#"):
			section = strings.TrimSpace(strings.TrimLeft(line, "#"))
			p.headings = append(p.headings, heading{section, p.anchor(section)})
		}
	}
	return b != nil
}

var statusComment = regexp.MustCompile(`<!-- status (\d{3}) -->`)

func (b *block) directive(line string) {
	if strings.Contains(line, "<!-- varies -->") {
		b.varies = true
	}
	if m := statusComment.FindStringSubmatch(line); m != nil {
		b.status, _ = strconv.Atoi(m[1]) // three digits
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchor makes a heading's address as GitHub does; a repeated one gets a number.
func (p *page) anchor(text string) string {
	base := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
	anchor := base
	for n := 1; p.hasAnchor(anchor); n++ {
		anchor = base + "-" + strconv.Itoa(n)
	}
	return anchor
}

func (p *page) hasAnchor(anchor string) bool {
	return slices.ContainsFunc(p.headings, func(h heading) bool { return h.anchor == anchor })
}

// prose is the text outside of the fenced blocks, with code spans taken out.
func (p *page) prose() string {
	var out strings.Builder
	at := 0
	for _, b := range p.blocks {
		out.WriteString(strings.Join(p.lines[at:b.from-1], "\n") + "\n")
		at = b.to + 1
	}
	out.WriteString(strings.Join(p.lines[at:], "\n"))
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(out.String(), "")
}

// line is a block's place for a message.
func (p *page) line(b *block) string { return p.path + ":" + strconv.Itoa(b.from) }
