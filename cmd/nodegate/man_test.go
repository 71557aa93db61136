package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManPages writes one page for each command, which the formatters of this machine read
// without a complaint. mandoc's warnings want a date, which a page from the same source must not
// have.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if code, stdout, stderr := runHere(t.Context(), t, "man", dir); code != 0 || !strings.HasPrefix(stdout, "wrote ") {
		t.Fatal(stdout, stderr)
	}
	parser, err := newParser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	all := leaves(parser.Model.Node)
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(files) != len(all)+1 {
		t.Errorf("%d pages for %d commands and the program, %v", len(files), len(all), err)
	}
	for _, n := range all {
		text, err := os.ReadFile(filepath.Join(dir, manName(n)+".1"))
		if err != nil {
			t.Error(err)
		}
		for _, f := range n.Flags {
			if !strings.Contains(string(text), roff("--"+f.Name)) {
				t.Errorf("the page of %s lacks --%s", n.Path(), f.Name)
			}
		}
	}
	for _, formatter := range [][]string{{"groff", "-ww", "-man", "-Tutf8", "-z"}, {"mandoc", "-Tlint", "-Werror"}} {
		t.Run(formatter[0], func(t *testing.T) {
			program, err := exec.LookPath(formatter[0])
			if err != nil {
				t.Skipf("%s is not on this machine", formatter[0])
			}
			out, err := exec.Command(program, append(formatter[1:], files...)...).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%v\n%.2000s", err, out)
			}
		})
	}
}

// TestManText reads a page as a user does.
func TestManText(t *testing.T) {
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not on this machine")
	}
	dir := t.TempDir()
	if code, _, stderr := runHere(t.Context(), t, "man", dir); code != 0 {
		t.Fatal(stderr)
	}
	cmd := exec.Command(man, "-l", filepath.Join(dir, "nodegate-key-rotate.1"))
	cmd.Env = append(ownEnv(), "MANPAGER=cat", "MAN_KEEP_FORMATTING=", "MANWIDTH=80", "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("man can't show a file here: %v", err)
	}
	for _, want := range []string{"NODEGATE-KEY-ROTATE(1)", "nodegate key rotate ID [flags]", "--overlap TIME", "how long the old values"} {
		if !strings.Contains(strings.ToLower(string(out)), strings.ToLower(want)) {
			t.Errorf("the page lacks %q:\n%s", want, out)
		}
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		"key-only":      `key\-only`,
		".TH forged":    `\&.TH forged`,
		"'so forged":    `\(aqso forged`,
		`A comma is \,`: `A comma is \e,`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
