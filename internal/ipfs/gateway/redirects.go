package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// rule is one line of a site's _redirects: what is asked for at a path that doesn't exist
// is looked for at another, with a status.
type rule struct {
	from   []string // names; one that begins with a colon stands for any
	splat  bool     // more may follow
	to     string
	status int
}

// maxRules is how large a _redirects may be, in bytes.
const maxRules = 64 << 10

// ruleStatuses are those that a rule may have.
var ruleStatuses = []int{200, 301, 302, 303, 307, 308, 404, 410, 451}

// parseRules reads a _redirects.
func parseRules(text string) (rules []rule, err error) {
	if len(text) > maxRules {
		return nil, fmt.Errorf("redirects file size cannot exceed %d bytes", maxRules)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		r, err := parseRule(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(fields []string) (r rule, err error) {
	if len(fields) < 2 || len(fields) > 3 {
		return r, errors.New("write it as: from to [status]")
	}
	if r.from, r.splat, err = parseFrom(fields[0]); err != nil {
		return r, err
	}
	r.to, r.status = fields[1], 301
	if len(fields) == 3 {
		if r.status, err = parseStatus(fields[2]); err != nil {
			return r, err
		}
	}
	return r, checkTarget(r.to, r.status)
}

func parseFrom(text string) (names []string, splat bool, err error) {
	if !strings.HasPrefix(text, "/") {
		return nil, false, fmt.Errorf("%q must begin with /", text)
	}
	if _, err := url.Parse(text); err != nil {
		return nil, false, fmt.Errorf("%q is no path", text)
	}
	if n := strings.Count(text, "*"); n > 1 || n == 1 && !strings.HasSuffix(text, "*") {
		return nil, false, fmt.Errorf("%q may have one asterisk, at its end", text)
	}
	if text, err = url.PathUnescape(text); err != nil {
		return nil, false, fmt.Errorf("%q is no path", text)
	}
	text, splat = strings.CutSuffix(text, "/*")
	return namesOf(text), splat, nil
}

func parseStatus(text string) (int, error) {
	if strings.HasSuffix(text, "!") {
		return 0, fmt.Errorf("status %q: forced redirects are not supported", text)
	}
	status, err := strconv.Atoi(text)
	if err != nil || !slices.Contains(ruleStatuses, status) {
		return 0, fmt.Errorf("status %q is not one of 200, 301, 302, 303, 307, 308, 404, 410 and 451", text)
	}
	return status, nil
}

// checkTarget lets pass what a browser may be sent to, or a path where content is shown.
func checkTarget(to string, status int) error {
	u, err := url.Parse(to)
	if err != nil {
		return fmt.Errorf("%q is no address", to)
	}
	if strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
		return nil
	}
	if status < 300 || status > 399 {
		return fmt.Errorf("%q must be a path for status %d", to, status)
	}
	if !slices.Contains([]string{"http", "https", "ipfs", "ipns"}, u.Scheme) {
		return fmt.Errorf("%q must begin with /, http://, https://, ipfs:// or ipns://", to)
	}
	return nil
}

// namesOf are the names of a path, without the empty ones: two slashes in an address would
// begin a host.
func namesOf(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

// match is where the rule leads from a path, escaped.
func (r rule) match(names []string) (to string, ok bool) {
	if len(names) < len(r.from) || len(names) > len(r.from) && !r.splat || r.splat && len(names) == len(r.from) {
		return "", false
	}
	values := map[string]string{}
	for i, from := range r.from {
		if name, any := strings.CutPrefix(from, ":"); any && name != "" {
			values[name] = url.PathEscape(names[i])
		} else if from != names[i] {
			return "", false
		}
	}
	if r.splat {
		rest := slices.Clone(names[len(r.from):])
		for i := range rest {
			rest[i] = url.PathEscape(rest[i])
		}
		values["splat"] = strings.Join(rest, "/")
	}
	return expand(r.to, values), true
}

// maxTarget is how long an address may become: a rule may repeat a long value very often.
const maxTarget = 8 << 10

// expand puts values in place of their names, the longest that fits. It returns "" for an
// address that becomes too long.
func expand(to string, values map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(to, ":")
		out.WriteString(before)
		if out.Len() > maxTarget {
			return ""
		}
		if !found {
			return out.String()
		}
		best := ""
		for name := range values {
			if len(name) > len(best) && strings.HasPrefix(after, name) {
				best = name
			}
		}
		if best == "" {
			out.WriteByte(':')
		}
		out.WriteString(values[best])
		to = after[len(best):]
	}
}
