package docs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// metricGroups are the tables of docs/metrics.md: a heading, what stands below it, and how the
// names of its metrics begin behind nodegate_. A metric is in the group with the longest match.
var metricGroups = []struct{ title, intro, begins string }{
	{"Requests", "", "rpc_ http_ accept_ connections_ websockets"},
	{"Accounts", "", "key signins"},
	{"Account store, Redis and usage", "Those of Redis are there with `redis.url`.", "store_ redis_ usage_"},
	{"Server", "The certificate's is there with `tls.cert` or `storage.cert`.", "build_ config_ certificate_ disk_ trace_"},
	{"Memory and queues", "[capacity.md](capacity.md#memory) explains the memory of requests. Queues: `heavy_calls` are long calls on embedded networks, `storage_turns` is work of the storage gateway on a core, `storage_heavy` are its listings, archives, exports and pins, `storage_pin_lists` are lists of pin requests.", "memory_ queue_"},
	{"Storage", "", "storage_"},
	{"Embedded block store", "With `storage.engine: embedded` only.", "blocks_"},
	{"Storage nodes", "With `storage.engine: kubo` only; those of the repair unless `storage.kubo.repair_interval` is 0.", "storage_node_ storage_repair_ storage_missing_"},
	{"Remote nodes", "On networks of remote nodes. [caching.md](caching.md) explains the outcomes of the cache, [ledger.md](ledger.md#what-is-verified) what is verified.", "cache_ verified_ node_"},
	{"Ledger", "On networks with a [ledger](ledger.md), while it is open.", "ledger_"},
}

const metricsBegin, metricsEnd = "<!-- The tables are generated from the registry: run `go test ./test/docs -run TestMetricsPage -update`. -->\n", "<!-- End of the generated tables. -->\n"

// TestMetricsPage holds the tables of docs/metrics.md to what the admin listener shows: names,
// types, labels and help texts.
func TestMetricsPage(t *testing.T) {
	full.Slow(t)
	path := filepath.Join(root, "docs", "metrics.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), metricsBegin)
	_, after, ended := strings.Cut(rest, metricsEnd)
	if !ok || !ended {
		t.Fatalf("%s has no place for the tables", path)
	}
	want := before + metricsBegin + metricTables(t, harness.Metrics(t)) + metricsEnd + after
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the registry has: run go test ./test/docs -run TestMetricsPage -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// metricTables writes a table for each group.
func metricTables(t *testing.T, exposed map[string]harness.Metric) string {
	t.Helper()
	rows := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(exposed)) {
		if !strings.HasPrefix(name, "nodegate_") {
			continue // of the runtime
		}
		m := exposed[name]
		group := groupOf(strings.TrimPrefix(name, "nodegate_"))
		if group == "" || m.Help == "" {
			t.Errorf("%s belongs to no table or has no help", name)
		}
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		rows[group] += "| `" + name + "` | " + m.Type + " | " + labels + " | " + strings.ReplaceAll(m.Help, `\\`, `\`) + " |\n"
	}
	var b strings.Builder
	for _, g := range metricGroups {
		b.WriteString("\n### " + g.title + "\n\n")
		if g.intro != "" {
			b.WriteString(g.intro + "\n\n")
		}
		b.WriteString("| name | type | labels | what it says |\n|---|---|---|---|\n" + rows[g.title])
	}
	return b.String() + "\n"
}

func groupOf(name string) (title string) {
	longest := 0
	for _, g := range metricGroups {
		for begin := range strings.FieldsSeq(g.begins) {
			if strings.HasPrefix(name, begin) && len(begin) > longest {
				title, longest = g.title, len(begin)
			}
		}
	}
	return title
}
