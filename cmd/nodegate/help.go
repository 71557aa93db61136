package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/nodegate/nodegate/internal/config"
)

// helpCmd prints commands, flags and settings.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command to explain, like key create."`
}

// Run finds the command by its words.
func (cmd *helpCmd) Run(a *app) error {
	node := a.parser.Model.Node
	for _, word := range cmd.Command {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		if i < 0 {
			return &usageError{fmt.Errorf("there is no command %q", strings.Join(cmd.Command, " "))}
		}
		node = node.Children[i]
	}
	return a.help(node)
}

// help explains a command. One that has nothing of its own to explain, and no
// command at all, get the page about everything.
func (a *app) help(node *kong.Node) error {
	if node == nil || node == a.parser.Model.Node || len(node.Children)+len(node.Flags) == 0 {
		return a.wholeHelp()
	}
	for _, leaf := range leaves(node) {
		fmt.Fprintf(a.stdout, "Usage: nodegate %s [flags]\n\n%s\n\n", commandLine(leaf), leaf.Help)
		if err := columns(a.stdout, "Flags:", flagRows(leaf.Flags)); err != nil {
			return err
		}
	}
	return nil
}

// wholeHelp writes the page about everything. Commands and flags come from the
// parser's model, settings from the table of the configuration.
func (a *app) wholeHelp() error {
	fmt.Fprintf(a.stdout, "Usage: nodegate [flags] [command]\n\n%s\n\n", a.parser.Model.Help)
	if err := columns(a.stdout, "Commands:", commandRows(leaves(a.parser.Model.Node))); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "nodegate help COMMAND shows the flags of a command. These go with every one:\n\n")
	if err := columns(a.stdout, "Flags:", flagRows(a.parser.Model.Flags)); err != nil {
		return err
	}
	return config.WriteHelp(a.stdout)
}

// leaves are the commands below a node that do something, in their order.
func leaves(n *kong.Node) []*kong.Node {
	if len(n.Children) == 0 {
		return []*kong.Node{n}
	}
	var list []*kong.Node
	for _, child := range n.Children {
		list = append(list, leaves(child)...)
	}
	return list
}

// commandLine is a command with its arguments: key revoke ID.
func commandLine(n *kong.Node) string {
	var words []string
	for node := n; node.Parent != nil; node = node.Parent {
		words = append([]string{node.Name}, words...)
	}
	for _, p := range n.Positional {
		word := strings.ToUpper(p.Name)
		if !p.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func commandRows(nodes []*kong.Node) [][2]string {
	var rows [][2]string
	for _, n := range nodes {
		rows = append(rows, [2]string{commandLine(n), n.Help})
	}
	return rows
}

func flagRows(flags []*kong.Flag) [][2]string {
	var rows [][2]string
	for _, f := range flags {
		name := "--" + f.Name
		if f.Short != 0 {
			name = fmt.Sprintf("-%c, %s", f.Short, name)
		}
		rows = append(rows, [2]string{strings.TrimSpace(name + " " + f.PlaceHolder), f.Help})
	}
	return rows
}

func columns(w io.Writer, title string, rows [][2]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, title)
	for _, r := range rows {
		fmt.Fprintf(t, "  %s\t%s\n", r[0], r[1])
	}
	fmt.Fprintln(t)
	return t.Flush()
}
