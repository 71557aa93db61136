package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a script that lets a shell complete command lines.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run writes the script. The parser's model has every command, so none can be missing.
func (cmd *completionCmd) Run(a *app) error {
	c := newCompletion(a.parser.Model.Node)
	write := map[string]func(io.Writer) error{"bash": c.bash, "zsh": c.zsh, "fish": c.fish}[cmd.Shell]
	return write(a.stdout)
}

// completion is what all shells complete: the commands with the root first, and the flags
// that go with every one.
type completion struct {
	commands []completed
	global   []*kong.Flag
}

// completed is one command.
type completed struct {
	path string // /key/create; the root has none
	node *kong.Node
}

func newCompletion(root *kong.Node) *completion {
	c := &completion{global: root.Flags}
	c.walk(root, "")
	return c
}

func (c *completion) walk(n *kong.Node, path string) {
	c.commands = append(c.commands, completed{path, n})
	for _, child := range shown(n.Children) {
		c.walk(child, path+"/"+child.Name)
	}
}

// paths are all commands that a command line can go on from. The help command is followed by
// the words of another, so it is none.
func (c *completion) paths() (list []string) {
	for _, one := range c.commands[1:] {
		if one.path != "/help" {
			list = append(list, one.path)
		}
	}
	return list
}

// valued are the flags that a value follows.
func (c *completion) valued() (list []string) {
	for _, one := range c.commands {
		for _, f := range one.node.Flags {
			if name := "--" + f.Name; !f.IsBool() && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// choices are the values of a flag or an argument, where they are known.
func choices(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
}

// filesOf is "file" or "dir" for a value that is in the file system, or "".
func filesOf(v *kong.Value, placeholder string) string {
	switch {
	case placeholder == "FILE", v.Name == "dir|file":
		return "file"
	case placeholder == "DIR", v.Name == "dir":
		return "dir"
	}
	return ""
}

// ownFlags are the flags of a command that are not those of every one.
func (one *completed) ownFlags() []*kong.Flag {
	if one.path == "" {
		return nil
	}
	return one.node.Flags
}

// flagNames are flags as they are typed.
func flagNames(flags []*kong.Flag) (list []string) {
	for _, f := range flags {
		list = append(list, "--"+f.Name)
	}
	return list
}

func childNames(n *kong.Node) (list []string) {
	for _, child := range shown(n.Children) {
		list = append(list, child.Name)
	}
	return list
}

// shown leaves out the commands that are for packagers.
func shown(nodes []*kong.Node) (list []*kong.Node) {
	for _, n := range nodes {
		if !n.Hidden {
			list = append(list, n)
		}
	}
	return list
}

// brief is the first sentence of a help text.
func brief(help string) string {
	sentence, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// shellQuoted is a text in single quotes of bash and zsh.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// script collects lines and the first error of writing them.
type script struct {
	w   io.Writer
	err error
}

func (s *script) line(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format+"\n", args...)
	}
}
