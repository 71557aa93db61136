package dashboard

import (
	"bytes"
	"encoding/json"
	"flag"
	"html"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard/apidoc"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/test/harness"
)

var updateAnswers = flag.Bool("update-answers", false, "write the answers of the methods' examples anew; read each before keeping it")

const answersFile = "../../internal/dashboard/apidoc/answers.json"

func openBook(t *testing.T) *apidoc.Book {
	t.Helper()
	b, err := apidoc.New()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMethodExamples runs the example of every method on a new server: it answers, and
// with what the page shows.
func TestMethodExamples(t *testing.T) {
	s, b := harness.Start(t, everything), openBook(t)
	develop(t, s)
	methods := slices.DeleteFunc(slices.Clone(b.Methods), func(m apidoc.Method) bool { return m.Remote })
	slices.SortStableFunc(methods, func(a, b apidoc.Method) int { return weight(a) - weight(b) })
	got := map[string]json.RawMessage{}
	for _, m := range methods {
		answer := runExample(t, s, b, &m)
		if answer == nil {
			continue
		}
		got[m.Name] = answer
		if *updateAnswers {
			continue
		}
		if m.Example.Varies {
			if b.Answer(m.Name) == nil {
				t.Errorf("%s has no recorded answer", m.Name)
			}
		} else if !bytes.Equal(answer, plain(t, b.Answer(m.Name))) {
			t.Errorf("%s answers\n%s\nrecorded is\n%s", m.Name, answer, b.Answer(m.Name))
		}
	}
	if *updateAnswers {
		for _, m := range b.Methods { // what varies, or no built-in network has, stays as it was
			if old := b.Answer(m.Name); (m.Example.Varies || m.Remote) && old != nil {
				got[m.Name] = old
			}
		}
		text, err := json.MarshalIndent(got, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(answersFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// everything turns on the namespaces that the examples need.
func everything(c *config.Config) {
	c.Networks[0].Namespaces, c.Networks[0].Cache = []string{"debug", "trace", "ots", "erigon", "evm"}, 0
}

// develop gives the key of the examples the scope development.
func develop(t *testing.T, s *harness.Service) {
	t.Helper()
	if err := s.Server.Control().Accounts.SetDevelopment(t.Context(), nodegate.Actor{Name: "test"}, "a-a", true); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for bytes.Contains(post(t, s.URL("devnet", harness.KeyA), `{"jsonrpc":"2.0","id":1,"method":"hardhat_getAutomine"}`), []byte("error")) {
		if time.Now().After(deadline) {
			t.Fatal("the scope is not followed")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// weight puts what changes the chain behind what looks at it.
func weight(m apidoc.Method) int {
	switch {
	case m.Development:
		return 2
	case m.Contracts == method.RawTransaction:
		return 1
	}
	return 0
}

func plain(t *testing.T, text json.RawMessage) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return b.Bytes()
}

// runExample sends a method's request as the page shows it, after the one it needs.
func runExample(t *testing.T, s *harness.Service, b *apidoc.Book, m *apidoc.Method) json.RawMessage {
	t.Helper()
	send := func(body string) []byte { return post(t, s.URL(m.Example.Network, harness.KeyA), body) }
	if m.Socket {
		conn, _, err := websocket.Dial(t.Context(), s.WS(m.Example.Network, harness.KeyA), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		send = func(body string) []byte { return exchange(t, conn, body) }
	}
	request := m.Request()
	if m.Example.After != "" {
		id := result(t, b.Find(m.Example.After), send(b.Find(m.Example.After).Request()))
		if strings.Count(request, `"0x1"`) != 1 {
			t.Errorf("%s: the id is not in %s", m.Name, request)
		}
		request = strings.Replace(request, `"0x1"`, string(id), 1)
	}
	return result(t, m, send(request))
}

func post(t *testing.T, address, body string) []byte {
	t.Helper()
	res, err := http.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func exchange(t *testing.T, conn *websocket.Conn, body string) []byte {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(body)); err != nil {
		t.Fatal(err)
	}
	_, text, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func result(t *testing.T, m *apidoc.Method, text []byte) json.RawMessage {
	t.Helper()
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error != nil || answer.Result == nil {
		t.Errorf("the example of %s is answered with %s (%v)", m.Name, text, err)
		return nil
	}
	return answer.Result
}

// TestRequiredParameters asks the server itself which parameters it can't do without.
func TestRequiredParameters(t *testing.T) {
	s := harness.Start(t, everything)
	develop(t, s)
	for _, m := range openBook(t).Methods {
		if m.Remote {
			continue
		}
		var given []json.RawMessage
		if err := json.Unmarshal([]byte(m.Example.Params), &given); err != nil || m.Socket {
			continue
		}
		required := slices.IndexFunc(m.Params, func(p method.Param) bool { return !p.Required })
		if required < 0 {
			required = len(m.Params)
		}
		for n := range required + 1 {
			list, err := json.Marshal(append([]json.RawMessage{}, given[:n]...))
			if err != nil {
				t.Fatal(err)
			}
			answer := post(t, s.URL(m.Example.Network, harness.KeyA), `{"jsonrpc":"2.0","id":1,"method":"`+m.Name+`","params":`+string(list)+`}`)
			if missed := bytes.Contains(answer, []byte("missing value for required argument")); missed != (n < required) {
				t.Errorf("%s with %d parameters, of which %d are said to be required: %s", m.Name, n, required, answer)
			}
		}
	}
}

// TestDocs walks the pages as a stranger: everything that is known of a method is there.
func TestDocs(t *testing.T) {
	s, b := harness.Start(t, func(c *config.Config) { c.Costs["eth_call"], c.Costs["other"] = 12_345, 67 }), openBook(t)
	v := Visit(t, s)
	index := v.Get("/docs").Is(t, http.StatusOK).Has(t, "12,345", `action="/docs"`, s.RPC+"/devnet/v3/KEY", `id="errors"`, "daily credit limit reached", "/openrpc.json")
	types := v.Get("/docs/types").Is(t, http.StatusOK)
	for _, m := range b.Methods {
		index.Has(t, `href="/docs/`+m.Name+`"`, `id="`+m.Name+`"`)
		p := v.Get("/docs/"+m.Name).Is(t, http.StatusOK).Has(t, "<h1>"+m.Name+"</h1>", `id="parameters"`, `id="result"`, `id="errors"`, `id="example"`)
		text := html.UnescapeString(p.Body)
		wants := []string{m.Summary, m.About, m.Result.What, m.Example.Params}
		for _, param := range m.Params {
			wants = append(wants, param.Name, param.What, `/docs/types#`+apidoc.TypeName(param.Type))
			types.Has(t, `id="`+apidoc.TypeName(param.Type)+`"`)
		}
		for _, f := range m.Errors {
			wants = append(wants, f.When)
		}
		for _, d := range m.Differences {
			wants = append(wants, d.What, d.Strict, d.Standard)
		}
		for _, w := range wants {
			if !strings.Contains(text, w) {
				t.Errorf("the page of %s lacks %q", m.Name, w)
			}
		}
	}
	v.Get("/docs/eth_call").Has(t, "12,345 a call")
	v.Get("/docs/eth_getCode").Has(t, "67 a call")
	v.Get("/docs/eth_getHeaderByHash").Has(t, "160 a call") // costs what methods do that are not counted
	v.Get("/docs/debug_traceCall").Has(t, "only on networks that enable it")
	v.Get("/docs/layer2_estimateGas").Has(t, "linea_estimateGas on rollup")
	v.Get("/docs/eth_sign").Is(t, http.StatusNotFound)
	v.Get("/docs/<script>").Is(t, http.StatusNotFound).Lacks(t, "<script>alert")
}

// TestDocsSearch filters without a script, and shows what was typed as text.
func TestDocsSearch(t *testing.T) {
	s := harness.Start(t, nil)
	v := Visit(t, s)
	v.Get("/docs?q=Block+RECEIPTS").Is(t, http.StatusOK).Has(t, "/docs/eth_getBlockReceipts", `value="Block RECEIPTS"`).Lacks(t, "/docs/eth_chainId")
	v.Get("/docs?q=nothing-like-this").Is(t, http.StatusOK).Has(t, "0 found")
	v.Get("/docs?q=%3Cscript%3Ealert(1)%3C/script%3E").Is(t, http.StatusOK).Has(t, "&lt;script&gt;alert(1)").Lacks(t, "<script>alert(1)")
	v.Get("/docs?q="+strings.Repeat("%C3%BC", 3000)).Is(t, http.StatusOK).Lacks(t, strings.Repeat("ü", 51), "\uFFFD")
}

// TestOpenRPCServed: machines of everybody may read the same.
func TestOpenRPCServed(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) { c.Costs["eth_call"] = 12_345 })
	p := Visit(t, s).Get("/openrpc.json").Is(t, http.StatusOK)
	if p.Header.Get("Content-Type") != "application/json" || p.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("headers %v", p.Header)
	}
	var d struct {
		Servers []apidoc.Server
		Methods []struct {
			Name    string
			Credits int64 `json:"x-credits"`
		}
	}
	if err := json.Unmarshal([]byte(p.Body), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Servers) != 2 || d.Servers[0].URL != s.RPC+"/devnet/v3/YOUR-API-KEY" {
		t.Errorf("servers %+v", d.Servers)
	}
	for _, m := range d.Methods {
		if m.Name == "eth_call" && m.Credits != 12_345 {
			t.Errorf("eth_call costs %d", m.Credits)
		}
	}
}

// TestListedIsServed compares openrpc.json with what each network answers: what is listed
// for a network is served there, and what is not listed is unknown.
func TestListedIsServed(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) { c.Networks[1].Namespaces = []string{"debug"} })
	develop(t, s)
	var d struct {
		Servers []apidoc.Server
		Methods []struct {
			Name    string
			Servers []apidoc.Server
			Socket  bool `json:"x-websocket-only"`
		}
	}
	if err := json.Unmarshal([]byte(Visit(t, s).Get("/openrpc.json").Is(t, http.StatusOK).Body), &d); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range d.Methods {
		if m.Servers == nil {
			m.Servers = d.Servers
		}
		for _, at := range m.Servers {
			listed[at.Name+" "+m.Name] = true
		}
	}
	if !listed["rollup linea_estimateGas"] || listed["devnet layer2_estimateGas"] || !listed["rollup debug_traceCall"] || listed["devnet debug_traceCall"] {
		t.Errorf("listed are %v", listed)
	}
	for _, network := range []string{"devnet", "rollup"} {
		for _, name := range append(method.Names(), "linea_estimateGas") {
			if method.Of(name).Socket {
				continue // refused over HTTP
			}
			key := harness.KeyB
			if method.Of(name).Scoped {
				key = harness.KeyA // the list says that these need the scope development
			}
			answer := post(t, s.URL(network, key), `{"jsonrpc":"2.0","id":1,"method":"`+name+`","params":[]}`)
			if served := !bytes.Contains(answer, []byte(`"code":-32601`)); served != listed[network+" "+name] {
				t.Errorf("%s on %s: listed %t, answers %s", name, network, listed[network+" "+name], answer)
			}
		}
	}
}

// TestPagesAreFast holds the pages of keys and methods to 50 ms and 100 KB, and the list of
// methods to 1.5 KB for each. On a machine that is busy with other programs, the time of the
// processor is what counts.
func TestPagesAreFast(t *testing.T) {
	s := harness.Start(t, nil)
	v := Member(t, s, "kim@example.com")
	k := v.makeKey(t, "x")
	for _, path := range []string{"/docs", "/docs?q=gas", "/docs/types", "/docs/eth_getProof", "/openrpc.json", "/keys", k.path, k.path + "/settings", k.path + "/rotate"} {
		best, size := time.Hour, 0
		for range 5 {
			begin, used := time.Now(), processorTime(t)
			p := v.Get(path).Is(t, http.StatusOK)
			best, size = min(best, time.Since(begin), processorTime(t)-used), len(p.Body)
		}
		t.Logf("%s: %s, %d bytes", strings.Replace(path, k.path, "/keys/ID", 1), best.Round(10*time.Microsecond), size)
		most := 100_000
		if path == "/openrpc.json" { // a file for tools, with an entry for each method
			most = 1500 * len(method.Names())
		}
		if best > 50*time.Millisecond || size > most {
			t.Errorf("%s takes %s and %d bytes", path, best, size)
		}
	}
}

// processorTime is how much processor time this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
