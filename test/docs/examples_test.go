package docs

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the answers of the pages anew; read each before keeping it")

// The service listens here when nothing is configured, and so the pages say.
const defaultPort = ":8545/"

// TestExamples plays every page from top to bottom on a fresh server, as a reader
// would: an example that changes the chain changes it for those below.
func TestExamples(t *testing.T) {
	played := 0
	for _, p := range pages(t) {
		if !slices.ContainsFunc(p.blocks, isExample) {
			continue
		}
		t.Run(strings.ReplaceAll(p.path, "/", "_"), func(t *testing.T) {
			played += playPage(t, p)
		})
	}
	if played < 20 {
		t.Errorf("only %d examples were played: the test has lost sight of them", played)
	}
}

func isExample(b block) bool {
	return b.lang == "ws" || b.lang == "sh" && strings.HasPrefix(b.text, "curl ")
}

func playPage(t *testing.T, p *page) (played int) {
	s := start(t)
	answers := map[int]string{} // by the block's index, what it would have to say
	for i := range p.blocks {
		b := &p.blocks[i]
		if !isExample(*b) {
			continue
		}
		played++
		if b.lang == "ws" {
			s.playTranscript(t, p, b)
			continue
		}
		var want *block
		if i+1 < len(p.blocks) && p.blocks[i+1].lang == "json" && p.blocks[i+1].section == b.section {
			want = &p.blocks[i+1]
		}
		if got, ok := s.playCurl(t, p, b, want); !ok && want != nil {
			answers[i+1] = got
		}
	}
	if *update && len(answers) > 0 {
		p.rewrite(t, answers)
	}
	return played
}

// playCurl runs one curl line. It returns the answer and whether it is the page's.
func (s *service) playCurl(t *testing.T, p *page, b, want *block) (answer string, ok bool) {
	t.Helper()
	r, err := parseCurl(b.text)
	if err != nil {
		t.Errorf("%s: %v", p.line(b), err)
		return "", false
	}
	if !strings.Contains(r.url, defaultPort) {
		t.Errorf("%s: %s is not where the service listens by default", p.line(b), r.url)
	}
	wantStatus := http.StatusOK
	for _, from := range []*block{b, want} {
		if from != nil && from.status != 0 {
			wantStatus = from.status
		}
	}
	status, answer := s.send(t, r)
	if status != wantStatus {
		t.Errorf("%s: status %d, want %d: %s", p.line(b), status, wantStatus, answer)
	}
	why := ""
	switch {
	case want != nil:
		why = differ(want.text, answer, want.varies)
	case status == http.StatusOK:
		why = hasResult(answer)
	}
	if why != "" && !*update {
		t.Errorf("%s: %s\n--> %s\n<-- %s", p.line(b), why, r.body, answer)
	}
	return answer, why == ""
}

// hasResult is what an example without an answer must fulfill.
func hasResult(answer string) string {
	v, err := decode(answer)
	if err != nil {
		return "the answer is not JSON: " + err.Error()
	}
	if object, ok := v.(map[string]any); !ok || object["result"] == nil {
		return "the answer has no result"
	}
	return ""
}

// rewrite puts new answers into the page.
func (p *page) rewrite(t *testing.T, answers map[int]string) {
	t.Helper()
	var out []string
	at := 0
	for i, b := range p.blocks {
		if answer, ok := answers[i]; ok {
			out = append(append(out, p.lines[at:b.from]...), pretty(answer))
			at = b.to
		}
	}
	text := strings.Join(append(out, p.lines[at:]...), "\n")
	if err := os.WriteFile(filepath.Join(root, p.path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
