package deploy

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func rules(t *testing.T) (list []rule) {
	t.Helper()
	for _, f := range parse[ruleFile](t, "prometheus/alerts.yaml") {
		for _, g := range f.Groups {
			list = append(list, g.Rules...)
		}
	}
	return list
}

// ruleLabel is a label in the text of an alert, legendLabel one in a legend of Grafana.
var (
	ruleLabel   = regexp.MustCompile(`\$labels\.(\w+)`)
	legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
)

func found(pattern *regexp.Regexp, texts ...string) (list []string) {
	for _, text := range texts {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
	}
	return list
}

// TestAlerts holds the rules to the metrics and labels that exist.
func TestAlerts(t *testing.T) {
	known, seen := knownMetrics(t), map[string]bool{}
	for _, r := range rules(t) {
		seen[r.Alert] = true
		if err := known.check(r.Expr, found(ruleLabel, r.Annotations["summary"], r.Annotations["description"])...); err != nil {
			t.Errorf("%s: %v", r.Alert, err)
		}
		if r.Annotations["summary"] == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s has no summary or no severity", r.Alert)
		}
	}
	for _, name := range []string{"NodeDown", "NetworkDown", "DiskLow", "StoreUnreachable", "CertificateExpiring", "ErrorRate", "UsageBacklog"} {
		if !seen["Nodegate"+name] {
			t.Errorf("no alert Nodegate%s", name)
		}
	}
}

// TestPromtool has Prometheus' own tool read the rules, and lets them fire.
func TestPromtool(t *testing.T) {
	promtool := tool(t, "promtool", "prometheus")
	for _, args := range [][]string{
		{"check", "rules", filepath.Join(folder, "prometheus", "alerts.yaml")},
		{"test", "rules", filepath.Join("testdata", "alerts.yaml")},
		{"check", "rules", write(t, "dashboard.yaml", asRules(dashboardQueries(t)))},
	} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// asRules makes rules of queries, for a tool that reads rules.
func asRules(list []query) string {
	var b strings.Builder
	b.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for i, q := range list {
		text, _ := json.Marshal(q.expr) // JSON is YAML
		b.WriteString("      - record: panel:query" + strings.Repeat("x", i) + "\n        expr: " + string(text) + "\n")
	}
	return b.String()
}

// query is one of the dashboard, with the labels that its legend shows.
type query struct {
	panel, expr string
	shown       []string
}

type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
	Panels []struct {
		ID      int    `json:"id"`
		Title   string `json:"title"`
		Type    string `json:"type"`
		GridPos struct{ H, W, X, Y int }
		Targets []struct {
			Expr         string `json:"expr"`
			LegendFormat string `json:"legendFormat"`
		} `json:"targets"`
	} `json:"panels"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "grafana/nodegate.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// variables are those of Grafana that stand in queries.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$network", ".*")

func dashboardQueries(t *testing.T) (list []query) {
	t.Helper()
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			list = append(list, query{p.Title, variables.Replace(target.Expr), found(legendLabel, target.LegendFormat)})
		}
	}
	for _, a := range d.Annotations.List {
		list = append(list, query{"annotation", variables.Replace(a.Expr), nil})
	}
	if len(list) < 50 {
		t.Fatalf("found only %d queries: the test looks in the wrong place", len(list))
	}
	return list
}

// labelValues is how Grafana asks for the values of a variable.
var labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)

// TestDashboard holds the queries of the dashboard to the metrics and labels that exist.
func TestDashboard(t *testing.T) {
	known := knownMetrics(t)
	for _, q := range dashboardQueries(t) {
		if strings.Contains(q.expr, "$") {
			t.Errorf("%s uses a variable that isn't there: %s", q.panel, q.expr)
		}
		if err := known.check(q.expr, q.shown...); err != nil {
			t.Errorf("%s: %v", q.panel, err)
		}
	}
	d := readDashboard(t)
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		text, _ := v.Query.(map[string]any)["query"].(string)
		m := labelValues.FindStringSubmatch(text)
		if m == nil || known.check(m[1], m[2]) != nil {
			t.Errorf("the variable %s asks %q", v.Name, text)
		}
	}
}

// TestDashboardLayout: no panel lies over another, and each has an id and a title of its own.
func TestDashboardLayout(t *testing.T) {
	d := readDashboard(t)
	taken, ids, titles := map[[2]int]string{}, map[int]bool{}, map[string]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || titles[p.Title] || p.Title == "" {
			t.Errorf("panel %d %q: the id or the title is taken", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
