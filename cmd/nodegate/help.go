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
	Command []string `arg:"" optional:"" help:"The command, such as key create."`
}

// Run finds the command by its words.
func (cmd *helpCmd) Run(a *app) error {
	node := a.parser.Model.Node
	for _, word := range cmd.Command {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		if i < 0 {
			return &usageError{err: fmt.Errorf("there is no command %q", strings.Join(cmd.Command, " "))}
		}
		node = node.Children[i]
	}
	return a.help(node)
}

// help explains a command: a group by its commands, any other by its flags. Without a
// command it writes the page about everything.
func (a *app) help(node *kong.Node) error {
	if node == nil || node == a.parser.Model.Node {
		return a.wholeHelp()
	}
	fmt.Fprintf(a.stdout, "Usage: nodegate %s\n\n%s\n\n", usageText(node), node.Help)
	if len(node.Children) > 0 {
		if err := columns(a.stdout, "Commands:", commandRows(leaves(node))); err != nil {
			return err
		}
	} else if len(node.Flags) > 0 {
		if err := columns(a.stdout, "Flags:", flagRows(node.Flags)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(a.stdout, seeAlso(node))
	return err
}

// usageText is how a command is written: key revoke ID [flags].
func usageText(node *kong.Node) string {
	switch {
	case len(node.Children) > 0:
		return commandLine(node) + " COMMAND [flags]"
	case len(node.Flags) > 0:
		return commandLine(node) + " [flags]"
	}
	return commandLine(node)
}

// seeAlso says where the rest is explained.
func seeAlso(node *kong.Node) string {
	if len(node.Children) > 0 {
		return fmt.Sprintf("Run \"nodegate help %s COMMAND\" for the flags of a command.", commandWords(node))
	}
	return "Run \"nodegate help\" for global flags and all settings."
}

// usageOf says how a command line goes that could not be understood, and where more is.
func usageOf(node *kong.Node) string {
	if node == nil || node.Parent == nil {
		return "Usage: nodegate [flags] [command]\nnodegate help shows commands and flags"
	}
	return fmt.Sprintf("Usage: nodegate %s\nnodegate help %s shows more", usageText(node), commandWords(node))
}

// wholeHelp writes the page about everything. Commands and flags come from the
// parser's model, settings from the table of the configuration.
func (a *app) wholeHelp() error {
	fmt.Fprintf(a.stdout, "Usage: nodegate [flags] [command]\n\n%s\n\n", a.parser.Model.Help)
	if err := columns(a.stdout, "Commands:", commandRows(leaves(a.parser.Model.Node))); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Run \"nodegate help COMMAND\" for the flags of a command. Global flags:\n\n")
	if err := columns(a.stdout, "Flags:", flagRows(a.parser.Model.Flags)); err != nil {
		return err
	}
	return config.WriteHelp(a.stdout)
}

// leaves are the commands below a node that do something, in their order. Hidden ones are for
// packagers.
func leaves(n *kong.Node) []*kong.Node {
	if len(n.Children) == 0 {
		return []*kong.Node{n}
	}
	var list []*kong.Node
	for _, child := range shown(n.Children) {
		list = append(list, leaves(child)...)
	}
	return list
}

// commandWords is a command as it is typed: key revoke.
func commandWords(n *kong.Node) string {
	var words []string
	for ; n.Parent != nil; n = n.Parent {
		words = append([]string{n.Name}, words...)
	}
	return strings.Join(words, " ")
}

// commandLine is a command with its arguments: key revoke ID.
func commandLine(n *kong.Node) string {
	words := []string{commandWords(n)}
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
