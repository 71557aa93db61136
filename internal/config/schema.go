package config

import (
	"fmt"
	"strings"
)

// field declares one scalar setting of a T.
type field[T any] struct {
	name   string // dotted yaml path
	was    string // an older name that is still read, or empty
	def    string // as it would be written in the file
	flag   bool   // has a command-line flag
	secret bool   // never shown: not in the dump, not in errors
	noFile bool   // only in the environment
	remote bool   // only networks of remote nodes have it
	varies bool   // the default depends on other settings: settle fills it in
	help   string // one line
	at     func(*T) value
}

// group declares one setting that is a list or a map. Those have no environment
// variable and no flag: their elements need a line and a column to complain about.
type group[T any] struct {
	name string
	help string
	read func(l *loader, t *T, path string, n node)
}

// schema is all that may stand in one mapping of the file.
type schema[T any] struct {
	fields []field[T]
	groups []group[T]
}

// allSections asks defaults for every section at once.
const allSections = "*"

// defaults sets the fields of one section ("" is the top, "limits." a section).
// A default that its own check refuses is a mistake in the table, which every test would hit.
func (s schema[T]) defaults(t *T, section string) {
	for _, f := range s.fields {
		if section != allSections && sectionOf(f.name) != section {
			continue
		}
		v := f.at(t)
		if f.def == "" && (f.varies || v.kind() == kindText) {
			continue
		}
		if err := v.set(f.def); err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", f.name, err))
		}
	}
}

func (s schema[T]) field(name string) (field[T], bool) {
	for _, f := range s.fields {
		if f.name == name || f.was == name && name != "" {
			return f, true
		}
	}
	return field[T]{}, false
}

func (s schema[T]) group(name string) (group[T], bool) {
	for _, g := range s.groups {
		if g.name == name {
			return g, true
		}
	}
	return group[T]{}, false
}

func (s schema[T]) hasSection(section string) bool {
	for _, f := range s.fields {
		if sectionOf(f.name) == section {
			return true
		}
	}
	return false
}

// keys lists what may stand in a section, in table order.
func (s schema[T]) keys(section string) []string {
	var keys []string
	seen := map[string]bool{}
	add := func(name string) {
		rest, ok := strings.CutPrefix(name, section)
		key, _, _ := strings.Cut(rest, ".")
		if ok && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for _, f := range s.fields {
		if !f.noFile {
			add(f.name)
		}
	}
	for _, g := range s.groups {
		add(g.name)
	}
	return keys
}

// sectionOf returns the path of the mapping that holds a setting, with its dot.
func sectionOf(name string) string {
	return name[:strings.LastIndex(name, ".")+1]
}

// envName is the environment variable of a setting: limits.body_bytes is
// NODEGATE_LIMITS_BODY_BYTES.
func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// flagName is the flag of a setting: log.level is --log-level.
func flagName(name string) string {
	return "--" + strings.NewReplacer(".", "-", "_", "-").Replace(name)
}
