package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completionCases are command lines, the last word of which is to be completed, with all that
// is offered.
func completionCases(t *testing.T) map[string][]string {
	t.Helper()
	cases := map[string][]string{
		"key revo":                       {"revoke"},
		"--data x account de":            {"delete", "development"},
		"account role a@example.com ":    {"member", "operator"},
		"account role a@example.com o":   {"operator"},
		"usage --by ":                    {"day", "hour", "minute"},
		"usage --b":                      {"--by"},
		"key create --data key rotate":   {}, // the value of a flag is no command, and there is no argument
		"help key rev":                   {"revoke"},
		"completion ":                    {"bash", "fish", "zsh"},
		"nodes list --js":                {"--json"},
		"key --":                         nil, // those of every command; filled in below
		"--config nodegate-completion-t": {"nodegate-completion-test.yaml"},
		"backup nodegate-completion-t":   {"nodegate-completion-test.yaml"},
	}
	parser, err := newParser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCompletion(parser.Model.Node)
	cases["key --"] = sorted(flagNames(c.global))
	for _, one := range c.commands {
		if names := childNames(one.node); len(names) > 0 {
			cases[strings.TrimPrefix(strings.ReplaceAll(one.path, "/", " ")+" ", " ")] = sorted(names)
		}
	}
	return cases
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// TestCompletion loads each script into its shell and completes command lines there.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		shell, ask string
	}{
		{"bash", `source ./script; complete -p nodegate >/dev/null || exit 1; ask() { COMP_WORDS=(nodegate "$@"); COMP_CWORD=$#; _nodegate; printf '%s\n' "${COMPREPLY[@]}"; }`},
		{"zsh", `compdef() { : }; _describe() { print -rl -- ${${(P)argv[-1]}%%:*} }; compadd() { shift; print -rl -- "$@" }
			_files() { print -rl -- *(N) }; source ./script; ask() { words=(nodegate "$@"); CURRENT=$#words; _nodegate | while read -r word; do [[ $word == "${@[-1]}"* ]] && print -r -- $word; done; true }`},
		{"fish", `source ./script; function ask; complete -C "nodegate $argv" | string replace -r '\t.*' ''; end`},
	} {
		t.Run(c.shell, func(t *testing.T) {
			shell, err := exec.LookPath(c.shell)
			if err != nil {
				t.Skipf("%s is not on this machine", c.shell)
			}
			code, text, stderr := runHere(t.Context(), t, "completion", c.shell)
			if code != 0 {
				t.Fatal(stderr)
			}
			dir := t.TempDir()
			for name, text := range map[string]string{"script": text, "nodegate-completion-test.yaml": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			completeAll(t, shell, dir, c.ask, completionCases(t))
		})
	}
}

// completeAll asks one shell for everything.
func completeAll(t *testing.T, shell, dir, ask string, cases map[string][]string) {
	t.Helper()
	lines := slices.Sorted(func(yield func(string) bool) {
		for line := range cases {
			if !yield(line) {
				return
			}
		}
	})
	program := ask + "\n"
	for _, line := range lines {
		words := strings.Split(line, " ") // the last may be empty
		program += fmt.Sprintf("ask '%s'\necho ---\n", strings.Join(words, "' '"))
	}
	cmd := exec.Command(shell, "-c", program)
	cmd.Dir, cmd.Env = dir, append(ownEnv(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	answers := strings.Split(string(out), "---\n")
	if len(answers) != len(lines)+1 {
		t.Fatalf("%d answers to %d questions:\n%s", len(answers)-1, len(lines), out)
	}
	for i, line := range lines {
		got := sorted(strings.Fields(answers[i]))
		if want := cases[line]; !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%q is completed by %q, want %q", line, got, want)
		}
	}
}

// TestValuedFlags: shells skip the word after a flag with a value, by its name alone.
func TestValuedFlags(t *testing.T) {
	parser, err := newParser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	c := newCompletion(parser.Model.Node)
	for _, one := range c.commands {
		for _, f := range one.node.Flags {
			if f.IsBool() && slices.Contains(c.valued(), "--"+f.Name) {
				t.Errorf("--%s of %s has no value, and one of another command has", f.Name, one.path)
			}
		}
	}
}
