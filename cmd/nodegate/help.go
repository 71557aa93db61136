package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/nodegate/nodegate/internal/config"
)

// helpCmd prints commands, flags and settings.
type helpCmd struct{}

// Run writes the page. Commands and flags come from the parser's model, settings
// from the table of the configuration.
func (helpCmd) Run(a *app) error {
	fmt.Fprintf(a.stdout, "Usage: nodegate [flags] [command]\n\n%s\n\n", a.parser.Model.Help)
	if err := columns(a.stdout, "Commands:", commandRows(a.parser.Model.Children)); err != nil {
		return err
	}
	if err := columns(a.stdout, "Flags:", flagRows(a.parser.Model.Flags)); err != nil {
		return err
	}
	return config.WriteHelp(a.stdout)
}

func commandRows(nodes []*kong.Node) [][2]string {
	var rows [][2]string
	for _, n := range nodes {
		rows = append(rows, [2]string{n.Name, n.Help})
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
