package main

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// zsh writes the same as bash, with a description beside each word.
func (c *completion) zsh(w io.Writer) error {
	s := &script{w: w}
	s.line(`#compdef nodegate
# zsh completion for nodegate. Save it as _nodegate in a folder of $fpath, or load it with:
# source <(nodegate completion zsh)
_nodegate() {
	local at= last= word=
	local -a found
	integer i args=0
	for ((i = 2; i < CURRENT; i++)); do
		word=${words[i]}
		if [[ -n $last ]]; then
			last=
			continue
		fi
		case $word in
		(%s) last=$word ;;
		(-*) ;;
		(*)
			case $at/$word in
			(/help) ;;
			(%s) at=$at/$word ;;
			(*) ((args++)) ;;
			esac
			;;
		esac
	done`, strings.Join(c.valued(), " | "), strings.Join(c.paths(), " | "))
	c.zshValues(s)
	c.zshNext(s)
	s.line(`}
if [[ $funcstack[1] == _nodegate ]]; then
	_nodegate "$@"
else
	compdef _nodegate nodegate
fi`)
	return s.err
}

// zshOffer is the command that offers the values of a flag or an argument, or "".
func zshOffer(v *kong.Value, placeholder string) string {
	if words := choices(v); words != nil {
		return "compadd -- " + strings.Join(words, " ")
	}
	return map[string]string{"file": "_files", "dir": "_files -/"}[filesOf(v, placeholder)]
}

func (c *completion) zshValues(s *script) {
	s.line("\tif [[ -n $last ]]; then\n\t\tcase $at:$last in")
	for _, one := range c.commands {
		path := one.path
		if path == "" {
			path = "*"
		}
		for _, f := range one.node.Flags {
			if offer := zshOffer(f.Value, f.PlaceHolder); offer != "" && !f.IsBool() {
				s.line("\t\t(%s:--%s) %s ;;", path, f.Name, offer)
			}
		}
	}
	s.line("\t\tesac\n\t\treturn\n\tfi")
}

func (c *completion) zshNext(s *script) {
	s.line("\tif [[ ${words[CURRENT]} == -* ]]; then\n\t\tfound=(%s)\n\t\tcase $at in", described(c.global))
	for _, one := range c.commands {
		if flags := one.ownFlags(); len(flags) > 0 {
			s.line("\t\t(%s) found+=(%s) ;;", one.path, described(flags))
		}
	}
	s.line("\t\tesac\n\t\t_describe -o flag found\n\t\treturn\n\tfi\n\tcase $at:$args in")
	for _, one := range c.commands {
		var names []string
		for _, child := range shown(one.node.Children) {
			names = append(names, shellQuoted(child.Name+":"+brief(child.Help)))
		}
		if len(names) > 0 {
			s.line("\t(%s:0) found=(%s); _describe command found ;;", one.path, strings.Join(names, " "))
		}
		for i, p := range one.node.Positional {
			if offer := zshOffer(p, ""); offer != "" {
				s.line("\t(%s:%d) %s ;;", one.path, i, offer)
			}
		}
	}
	s.line("\tesac")
}

// described are flags with their descriptions, as _describe reads them.
func described(flags []*kong.Flag) string {
	var list []string
	for _, f := range flags {
		list = append(list, shellQuoted("--"+f.Name+":"+brief(f.Help)))
	}
	return strings.Join(list, " ")
}
