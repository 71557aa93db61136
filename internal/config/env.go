package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nodegate/nodegate/internal/spelling"
)

const (
	envPrefix    = "NODEGATE_"
	fileVariable = "NODEGATE_CONFIG"
)

// otherVariables start with our prefix and are read elsewhere.
var otherVariables = []string{fileVariable, "NODEGATE_CONFORMANCE", "NODEGATE_BACKUP_PASSPHRASE"}

// orchestrated matches what Kubernetes and Docker links put into the environment
// of every container for a service that is called nodegate, or nodegate-something.
var orchestrated = regexp.MustCompile(`^NODEGATE_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)$`)

// readEnv applies the environment. An empty variable counts as not set, as
// compose files and unit files often pass one on like that.
func (l *loader) readEnv() {
	for _, entry := range slices.Sorted(slices.Values(l.opts.Env)) {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || foreign(name, text) {
			continue
		}
		l.readVariable(name, text)
	}
}

func (l *loader) readVariable(name, text string) {
	src := source{origin: fromEnv, name: name}
	for _, f := range settings.fields {
		old := f.was != "" && envName(f.was) == name
		if old && l.src[f.name].origin == fromEnv {
			return // the new name counts
		}
		if old || envName(f.name) == name {
			if text != "" {
				assign(l, f, l.cfg, f.name, src, text)
			}
			return
		}
	}
	for _, g := range settings.groups {
		if envName(g.name) == name {
			l.fail(src, "", "%s can only be set in the configuration file", g.name)
			return
		}
	}
	l.fail(src, "", "unknown variable%s", suggestVariable(name))
}

// foreign tells whether a variable with our prefix is meant for someone else.
func foreign(name, text string) bool {
	if slices.Contains(otherVariables, name) || orchestrated.MatchString(name) {
		return true
	}
	// NODEGATE_PORT=tcp://10.0.0.1:8545 comes from the same place.
	return strings.HasSuffix(name, "_PORT") && strings.Contains(text, "://")
}

// suggestVariable names the known variable that was likely meant. The prefix is
// left out of the comparison: it would make every two variables look alike.
func suggestVariable(name string) string {
	known := []string{strings.TrimPrefix(fileVariable, envPrefix)}
	for _, f := range settings.fields {
		known = append(known, strings.TrimPrefix(envName(f.name), envPrefix))
	}
	if best := spelling.Nearest(strings.TrimPrefix(name, envPrefix), known); best != "" {
		return "; did you mean " + envPrefix + best + "?"
	}
	return "; nodegate help lists the known ones"
}

// lookup finds a variable; the last of several wins, as in a shell.
func lookup(env []string, name string) string {
	found := ""
	for _, entry := range env {
		if key, text, _ := strings.Cut(entry, "="); key == name {
			found = text
		}
	}
	return found
}
