package main

import (
	"io"
	"strings"
)

// bash writes a function that finds the command on the line so far, and offers what may come
// next. It works with the bash 3.2 of macOS too.
func (c *completion) bash(w io.Writer) error {
	s := &script{w: w}
	s.line(`# bash completion for nodegate. Load it with: source <(nodegate completion bash)
_nodegate() {
	local cur=${COMP_WORDS[COMP_CWORD]} at= args=0 last= word= words= files= i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $last ]]; then # the value of a flag; bash makes a word of the = before it
			[[ $word == = ]] || last=
			continue
		fi
		case $word in
		%s) last=$word ;;
		-*) ;;
		*)
			case $at/$word in
			/help) ;;
			%s) at=$at/$word ;;
			*) args=$((args + 1)) ;;
			esac
			;;
		esac
	done
	[[ $cur != = ]] || cur=`, strings.Join(c.valued(), " | "), strings.Join(c.paths(), " | "))
	c.bashValues(s)
	c.bashNext(s)
	s.line(`	case $files in
	file) compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$cur")) ;;
	dir) compopt -o filenames 2>/dev/null; local IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
	esac
}
complete -F _nodegate nodegate`)
	return s.err
}

// bashValues offers the values of a flag.
func (c *completion) bashValues(s *script) {
	s.line("\tif [[ -n $last ]]; then\n\t\tcase $at:$last in")
	for _, one := range c.commands {
		path := one.path
		if path == "" {
			path = "*" // its flags go with every command
		}
		for _, f := range one.node.Flags {
			if words := choices(f.Value); words != nil && !f.IsBool() {
				s.line("\t\t%s:--%s) words='%s' ;;", path, f.Name, strings.Join(words, " "))
			} else if files := filesOf(f.Value, f.PlaceHolder); files != "" {
				s.line("\t\t%s:--%s) files=%s ;;", path, f.Name, files)
			}
		}
	}
	s.line("\t\tesac")
}

// bashNext offers flags, commands and arguments.
func (c *completion) bashNext(s *script) {
	s.line("\telif [[ $cur == -* ]]; then\n\t\tcase $at in")
	for _, one := range c.commands {
		s.line("\t\t'%s') words='%s' ;;", one.path, strings.Join(append(flagNames(one.ownFlags()), flagNames(c.global)...), " "))
	}
	s.line("\t\tesac\n\telse\n\t\tcase $at:$args in")
	for _, one := range c.commands {
		if names := childNames(one.node); len(names) > 0 {
			s.line("\t\t%s:0) words='%s' ;;", one.path, strings.Join(names, " "))
		}
		for i, p := range one.node.Positional {
			if words := choices(p); words != nil {
				s.line("\t\t%s:%d) words='%s' ;;", one.path, i, strings.Join(words, " "))
			} else if files := filesOf(p, ""); files != "" {
				s.line("\t\t%s:%d) files=%s ;;", one.path, i, files)
			}
		}
	}
	s.line("\t\tesac\n\tfi")
}
