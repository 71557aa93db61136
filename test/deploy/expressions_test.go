package deploy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/test/harness"
)

// metricNames knows the labels of each metric as queries name it: histograms have three
// names.
type metricNames map[string][]string

func knownMetrics(t *testing.T) metricNames {
	t.Helper()
	known := metricNames{"up": nil}
	for name, m := range harness.Metrics(t) {
		if m.Type != "histogram" && m.Type != "summary" {
			known[name] = m.Labels
			continue
		}
		known[name+"_sum"], known[name+"_count"] = m.Labels, m.Labels
		known[name+"_bucket"] = append(slices.Clone(m.Labels), "le")
	}
	if len(known) < 80 {
		t.Fatalf("found only %d metrics: the test looks in the wrong place", len(known))
	}
	return known
}

// ofPrometheus are labels that Prometheus adds.
var ofPrometheus = []string{"instance", "job"}

var (
	token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[0-9][0-9a-z.]*|[A-Za-z_:][\w:]*|[{}(),]|[=!<>~+*/^%-]+`)
	word  = regexp.MustCompile(`^[A-Za-z_:]`)
	// lists of labels follow these.
	grouping = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	// operators are words that are neither functions nor metrics.
	operators = []string{"and", "or", "unless", "bool", "offset"}
)

// names are what an expression of PromQL names.
type names struct {
	metrics []string
	labels  map[string][]string // of each metric, in its braces
	grouped []string            // in lists of labels
}

// readNames reads an expression. It knows as much of PromQL as it takes to tell metrics, labels
// and functions apart.
func readNames(expr string) (names, error) {
	tokens := token.FindAllString(expr, -1)
	if rest := strings.TrimSpace(token.ReplaceAllString(expr, "")); rest != "" {
		return names{}, fmt.Errorf("can't read %q in %q", rest, expr)
	}
	n := names{labels: map[string][]string{}}
	for i := 0; i < len(tokens); i++ {
		next := ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		switch {
		case !word.MatchString(tokens[i]) || slices.Contains(operators, tokens[i]):
		case slices.Contains(grouping, tokens[i]) && next == "(":
			end := i + slices.Index(tokens[i:], ")")
			n.grouped = append(n.grouped, words(tokens[i+2:end])...)
			i = end
		case next == "(" || next == "by" || next == "without": // a function
		case next == "{":
			end := i + slices.Index(tokens[i:], "}")
			n.metrics = append(n.metrics, tokens[i])
			n.labels[tokens[i]] = append(n.labels[tokens[i]], words(tokens[i+2:end])...)
			i = end
		default:
			n.metrics = append(n.metrics, tokens[i])
		}
	}
	return n, nil
}

func words(tokens []string) (list []string) {
	for _, t := range tokens {
		if word.MatchString(t) {
			list = append(list, t)
		}
	}
	return list
}

// check says what an expression names that doesn't exist. shown are labels that texts beside
// it use.
func (known metricNames) check(expr string, shown ...string) error {
	n, err := readNames(expr)
	if err != nil {
		return err
	}
	var errs []error
	if len(n.metrics) == 0 {
		errs = append(errs, fmt.Errorf("no metric in %q", expr))
	}
	all := slices.Clone(ofPrometheus)
	for _, metric := range n.metrics {
		labels, ok := known[metric]
		if !ok {
			errs = append(errs, fmt.Errorf("no metric is called %s: %q", metric, expr))
		}
		all = append(all, labels...)
		for _, label := range n.labels[metric] {
			if !slices.Contains(labels, label) && !slices.Contains(ofPrometheus, label) {
				errs = append(errs, fmt.Errorf("%s has no label %s: %q", metric, label, expr))
			}
		}
	}
	for _, label := range append(n.grouped, shown...) {
		if !slices.Contains(all, label) {
			errs = append(errs, fmt.Errorf("no metric of %q has the label %s", expr, label))
		}
	}
	return errors.Join(errs...)
}

// TestCheckBites: the check of expressions finds what it is for.
func TestCheckBites(t *testing.T) {
	known := metricNames{"a_total": {"x", "y"}, "h_bucket": {"x", "le"}, "up": nil}
	for expr, good := range map[string]bool{
		`sum by (x) (rate(a_total{y="ok", instance=~"$i"}[5m])) / 2`:    true,
		`histogram_quantile(0.99, sum by (x, le) (rate(h_bucket[5m])))`: true,
		`a_total == 0 unless a_total{x="b_total{}"} == 1`:               true,
		`up{job="nodegate"} == 0`:                                       true,
		`a_total > 1e3 or a_total offset 5m`:                            true,
		`b_total`:                                                       false,
		`rate(a_totals[5m])`:                                            false,
		`a_total{z="1"}`:                                                false,
		`sum by (z) (a_total)`:                                          false,
		`h_bucket{y="1"}`:                                               false,
		`a_total{x="1"} and on (q) up`:                                  false,
		`sum by (network) (a_total)`:                                    false,
		`1 + 2`:                                                         false,
		`a_total; drop`:                                                 false,
		`h_count`:                                                       false,
		`sum(rate(a_total{le="1"}[5m]))`:                                false,
		`sum without (x) (a_total) * on (y) group_left (x) a_total`:                    true,
		`predict_linear(a_total[6h], 24 * 3600) < 2 * a_total`:                         true,
		`a_total - time() < 14 * 86400`:                                                true,
		`sum by (x) (rate(a_total{y=~"a|b c"}[5m])) / sum by (x) (rate(a_total[5m]))`:  true,
		`sum by (x) (rate(a_total{y=~"a|b c"}[5m])) / sum by (xx) (rate(a_total[5m]))`: false,
	} {
		if err := known.check(expr); (err == nil) != good {
			t.Errorf("%s: %v", expr, err)
		}
	}
	if known.check("a_total", "x") != nil || known.check("a_total", "z") == nil {
		t.Error("labels that are shown are not checked")
	}
}
