package storage_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReplay sends the requests of the scripts to a running Kubo, where the
// environment names one: KUBO_API=http://127.0.0.1:5001 and, for the read gateway,
// KUBO_GATEWAY=http://127.0.0.1:8080. It wants the answers that the scripts have,
// except where a script says why Kubo answers otherwise. The Kubo loses its pins and
// its content: use one that was made for this, offline.
func TestReplay(t *testing.T) {
	api, gateway := os.Getenv("KUBO_API"), os.Getenv("KUBO_GATEWAY")
	if api == "" {
		t.Skip("KUBO_API names no Kubo")
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	same, marked := 0, 0
	for _, name := range files {
		emptyKubo(t, api)
		k := &kuboPins{api: api, tenant: "a", of: map[string][]string{}}
		for _, p := range readScript(t, name) {
			k.become(t, p.tenant)
			base := api
			if strings.HasPrefix(p.to, "/ip") {
				base = gateway
			}
			if base == "" || strings.HasPrefix(p.kubo, "not sent") {
				continue
			}
			want, got := common(p.want), common(answerLines(send(p.request(t, base)), shown))
			switch {
			case matches(want, got) && p.kubo != "":
				t.Errorf("%s:%d: Kubo answers the same, but is said to differ: %s", name, p.line, p.kubo)
			case matches(want, got):
				same++
			case p.kubo != "":
				marked++
			default:
				t.Errorf("%s:%d: --> %s %s\nKubo:\n%s\nhere:\n%s", name, p.line, p.method, p.to, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	t.Logf("%d answers are the same, %d differ for a reason that is given", same, marked)
}

// ours are headers that Kubo's API does not have. Its cat has no Content-Length; the
// read gateway's caching depends on whether it is public.
var ours = []string{"Content-Length", "Cache-Control"}

// common are the lines of an answer that both have. Tags of CARs and of pages hold a
// number of the program's own.
func common(lines []string) []string {
	api := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "X-Stream-Output: ") })
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		name, _, _ := strings.Cut(l, ": ")
		own := strings.HasPrefix(l, `Etag: W/"`) || strings.HasPrefix(l, `Etag: "DirIndex-`)
		return slices.Contains(ours, name) || own || api && (name == "Etag" || name == "Accept-Ranges")
	})
}

// kuboPins gives each tenant of a script pins of its own on a Kubo, which has one set
// for all: they are put away while another makes requests.
type kuboPins struct {
	api, tenant string
	of          map[string][]string // the commands that bring a tenant's pins back
}

func (k *kuboPins) become(t *testing.T, tenant string) {
	t.Helper()
	if tenant == k.tenant {
		return
	}
	k.of[k.tenant] = takePins(t, k.api)
	for _, command := range k.of[tenant] {
		kubo(t, k.api, command)
	}
	k.tenant = tenant
}

// takePins takes all pins off, and returns the commands that bring them back.
func takePins(t *testing.T, api string) (back []string) {
	t.Helper()
	for kind, recursive := range map[string]string{"recursive": "true", "direct": "false"} {
		for line := range strings.Lines(kubo(t, api, "pin/ls?stream=true&names=true&type="+kind)) {
			var p struct{ Cid, Name string }
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			kubo(t, api, "pin/rm?arg="+p.Cid+"&recursive="+recursive)
			back = append(back, "pin/add?arg="+p.Cid+"&recursive="+recursive+"&name="+url.QueryEscape(p.Name))
		}
	}
	return back
}

// emptyKubo takes all pins off and collects.
func emptyKubo(t *testing.T, api string) {
	t.Helper()
	takePins(t, api)
	kubo(t, api, "repo/gc?quiet=true")
}

func kubo(t *testing.T, api, command string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/api/v0/"+command, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := send(req)
	if a.status != http.StatusOK {
		t.Fatalf("%s: %d %s %v", command, a.status, a.body, a.err)
	}
	return a.body
}
