package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// manCmd writes man pages: nodegate.1 and one for each command.
type manCmd struct {
	Dir string `arg:"" help:"The folder, which is created if needed."`
}

// Run makes the pages from the parser's model, so that none is missing or old.
func (cmd *manCmd) Run(a *app) error {
	if err := os.MkdirAll(cmd.Dir, 0o755); err != nil {
		return err
	}
	root := a.parser.Model.Node
	pages := map[string]func(io.Writer) error{
		"nodegate": func(w io.Writer) error { return manRoot(w, root, a.parser.Model.Help) },
	}
	for _, n := range leaves(root) {
		pages[manName(n)] = func(w io.Writer) error { return manCommand(w, n) }
	}
	for name, write := range pages {
		var b strings.Builder
		if err := write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(cmd.Dir, name+".1"), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "wrote %d man pages to %s\n", len(pages), safe(cmd.Dir))
	return err
}

// manName is the page of a command: nodegate-key-create.
func manName(n *kong.Node) string {
	return "nodegate-" + strings.ReplaceAll(commandWords(n), " ", "-")
}

// manRoot is the page of the program. Settings are in docs/config.md and nodegate help.
func manRoot(w io.Writer, root *kong.Node, about string) error {
	s := &script{w: w}
	manHead(s, "nodegate", "self-hosted gateway to blockchain nodes and content storage")
	s.line(".SH SYNOPSIS\n.B nodegate\n[flags] [command]\n.SH DESCRIPTION\n%s", roff(about))
	s.line(".P\nWithout a command, nodegate runs the service.")
	s.line(".SH COMMANDS")
	for _, n := range leaves(root) {
		s.line(".TP\n.BR %s (1)\n%s", roff(manName(n)), roff(n.Help))
	}
	manFlags(s, "OPTIONS", root.Flags)
	s.line(".SH ENVIRONMENT\nEach setting has a variable that begins with NODEGATE_.\n.B nodegate help\nlists all of them with their defaults.")
	s.line(".SH EXIT STATUS\n.TP\n0\nThe command succeeded.\n.TP\n%d\nIt failed; another try may succeed.\n.TP\n%d\nThe command line, the configuration or the data folder can't be used.", exitFailure, exitMistake)
	return s.err
}

func manCommand(w io.Writer, n *kong.Node) error {
	s := &script{w: w}
	manHead(s, manName(n), brief(n.Help))
	s.line(".SH SYNOPSIS\n.B nodegate %s", roff(commandWords(n)))
	if rest := strings.TrimSpace(strings.TrimPrefix(usageText(n), commandWords(n))); rest != "" {
		s.line("%s", roff(rest))
	}
	s.line(".SH DESCRIPTION\n%s", roff(n.Help))
	if len(n.Positional) > 0 {
		s.line(".SH ARGUMENTS")
		for _, p := range n.Positional {
			s.line(".TP\n.I %s\n%s", roff(strings.ToUpper(p.Name)), roff(p.Help))
		}
	}
	manFlags(s, "OPTIONS", n.Flags)
	s.line(".P\nThe options of\n.BR nodegate (1)\napply to every command.\n.SH SEE ALSO\n.BR nodegate (1)")
	return s.err
}

// manHead begins a page. It has no date, so that the same source makes the same pages.
func manHead(s *script, name, about string) {
	s.line(`.TH "%s" 1 "" "nodegate" "User Commands"`, roff(strings.ToUpper(name)))
	s.line(".SH NAME\n%s \\- %s", roff(name), roff(about))
}

func manFlags(s *script, title string, flags []*kong.Flag) {
	if len(flags) == 0 {
		return
	}
	s.line(".SH %s", title)
	for _, row := range flagRows(flags) {
		s.line(".TP\n.B %s\n%s", roff(row[0]), roff(row[1]))
	}
}

// roff writes a text so that nothing in it is a command of the formatter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
