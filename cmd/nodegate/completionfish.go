package main

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// fish writes one line for each word that may be offered, with the command after which it is.
func (c *completion) fish(w io.Writer) error {
	s := &script{w: w}
	s.line(`# fish completion for nodegate. Load it with: nodegate completion fish | source
function __nodegate_at
    set -l at ''
    set -l value 0
    for word in (commandline -opc)[2..-1]
        if test $value = 1
            set value 0
            continue
        end
        switch $word
            case %s
                set value 1
            case '-*' help
            case '*'
                if contains -- $at/$word %s
                    set at $at/$word
                end
        end
    end
    test "$at" = "$argv[1]"
end
complete -c nodegate -f`, strings.Join(c.valued(), " "), strings.Join(c.paths(), " "))
	for _, f := range c.global {
		s.line("complete -c nodegate%s", fishFlag(f))
	}
	for _, one := range c.commands {
		c.fishCommand(s, one)
	}
	return s.err
}

func (c *completion) fishCommand(s *script, one completed) {
	at := " -n '__nodegate_at \"" + one.path + "\"'"
	for _, child := range shown(one.node.Children) {
		s.line("complete -c nodegate%s -a %s -d %s", at, child.Name, fishQuoted(brief(child.Help)))
	}
	for _, f := range one.ownFlags() {
		s.line("complete -c nodegate%s%s", at, fishFlag(f))
	}
	for _, p := range one.node.Positional {
		if offer := fishOffer(p, ""); offer != "" {
			s.line("complete -c nodegate%s%s", at, offer)
		}
	}
}

// fishFlag is a flag: -x says that a value follows which is no file, -r that one follows.
func fishFlag(f *kong.Flag) string {
	text := " -l " + f.Name + " -d " + fishQuoted(brief(f.Help))
	if f.Short != 0 {
		text += " -s " + string(f.Short)
	}
	if f.IsBool() {
		return text
	}
	if offer := fishOffer(f.Value, f.PlaceHolder); offer != "" {
		return text + " -r" + offer
	}
	return text + " -x"
}

// fishOffer are the values of a flag or an argument, or "".
func fishOffer(v *kong.Value, placeholder string) string {
	if words := choices(v); words != nil {
		return " -f -a " + fishQuoted(strings.Join(words, " "))
	}
	return map[string]string{"file": " -F", "dir": " -f -a '(__fish_complete_directories)'"}[filesOf(v, placeholder)]
}

// fishQuoted is a text in single quotes of fish.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
