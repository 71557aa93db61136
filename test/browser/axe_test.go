package browser

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/npmtest"
)

// manifest pins axe-core.
//
//go:embed .npmrc package.json package-lock.json
var manifest embed.FS

// runAxe applies the rules of WCAG 2.0, 2.1 and 2.2 for levels A and AA, and that no header
// of a table is empty. It also counts
// the rules that passed: none would mean that axe looked at nothing.
const runAxe = `axe.run(%s, {runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}, rules: {"empty-table-header": {enabled: true}, "scrollable-region-focusable": {enabled: true}}}).then(found => ({
	passed: found.passes.length,
	violations: found.violations.flatMap(rule => rule.nodes.map(node => rule.id + " (" + rule.help + ") at " + node.html + "\n" + node.failureSummary)),
}))`

// finding is what axe says of a page.
type finding struct {
	Passed     int      `json:"passed"`
	Violations []string `json:"violations"`
}

// inspector leads a browser from page to page and has axe look at each.
type inspector struct {
	*testing.T
	ctx    context.Context
	base   string
	axe    string
	seen   map[string]bool // templates
	checks int
}

// inspect opens a browser before a server.
func inspect(t *testing.T, s *harness.Service, axe string) *inspector {
	t.Helper()
	return &inspector{T: t, ctx: Open(t), base: localhost(s.RPC), axe: axe, seen: map[string]bool{}}
}

// axeSource is axe-core as a script for a page.
func axeSource(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(npmtest.Install(t, manifest), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// open goes to a page and checks it.
func (i *inspector) open(template, path, waitFor string) {
	i.Helper()
	Do(i, i.ctx, chromedp.Navigate(i.base+path), chromedp.WaitVisible(waitFor))
	i.check(template)
}

// submit sends a form and checks the page that it leads to.
func (i *inspector) submit(template, form, waitFor string) {
	i.Helper()
	Do(i, i.ctx, chromedp.Submit(form), chromedp.WaitVisible(waitFor))
	i.check(template)
}

// check has axe look at the page, with all of it open, in both themes and on a phone's
// screen, where tables scroll that otherwise don't.
func (i *inspector) check(template string) {
	i.Helper()
	i.seen[template] = true
	Ask(i, i.ctx, chromedp.Evaluate[bool](`document.querySelectorAll("main details").forEach(part => part.open = true), scrollTo(0, 0), true`))
	Do(i, i.ctx, inTheme("light"))
	i.report(template, "light")
	Do(i, i.ctx, inTheme("dark"))
	i.report(template, "dark")
	Do(i, i.ctx, chromedp.EmulateViewport(390, 800, chromedp.EmulateMobile))
	// As high as the page: the bars at the edges of the screen cover nothing of it.
	high := Ask(i, i.ctx, chromedp.Evaluate[int64](`document.documentElement.scrollHeight`))
	Do(i, i.ctx, chromedp.EmulateViewport(390, max(high, 800), chromedp.EmulateMobile))
	i.report(template, "dark, phone")
	Do(i, i.ctx, chromedp.EmulateViewport(390, 800, chromedp.EmulateMobile))
	i.menus(template)
	Do(i, i.ctx, chromedp.EmulateViewport(1280, 900))
}

// menus has axe look at each menu while it is open. The others are closed, and what a menu
// covers isn't looked at.
func (i *inspector) menus(template string) {
	i.Helper()
	const open = `(at => { const all = [...document.querySelectorAll("details.pop, .tabbar details")]; all.forEach((menu, i) => menu.open = i === at); return all.length })`
	for at := 0; at < Ask(i, i.ctx, chromedp.Evaluate[int](fmt.Sprintf("%s(%d)", open, at))); at++ {
		i.reportIn(`document.querySelector("details.pop[open], .tabbar details[open]")`, template, "a menu")
	}
}

func (i *inspector) report(template, look string) {
	i.Helper()
	i.reportIn("document", template, look)
}

func (i *inspector) reportIn(part, template, look string) {
	i.Helper()
	found := i.runIn(part)
	i.checks++
	if found.Passed == 0 {
		i.Errorf("%s.html: axe checked nothing", template)
	}
	if len(found.Violations) > 0 {
		where := Ask(i, i.ctx, chromedp.Location())
		i.Errorf("%s.html (%s) at %s:\n%s", template, look, strings.TrimPrefix(where, i.base), strings.Join(found.Violations, "\n"))
	}
}

// run is not subject to the page's Content-Security-Policy: it is the debugger that
// evaluates the script.
func (i *inspector) run() finding { i.Helper(); return i.runIn("document") }

func (i *inspector) runIn(part string) finding {
	i.Helper()
	if !Ask(i, i.ctx, chromedp.Evaluate[bool](`"axe" in window`)) {
		Ask(i, i.ctx, chromedp.Evaluate[bool](i.axe+"\n;true"))
	}
	return Ask(i, i.ctx, chromedp.Evaluate[finding](fmt.Sprintf(runAxe, part), chromedp.EvalAwaitPromise))
}

// templates are the pages of the dashboard, without those that are parts of others.
func templates(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../internal/dashboard/pages/[^_]*.html")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pages, %v: the test looks in the wrong place", len(files), err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".html"))
	}
	return names
}

// field is an input of a form.
func field(form, name string) string { return fmt.Sprintf(`form[action=%q] [name=%q]`, form, name) }
