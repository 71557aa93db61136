package chain

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/test/full"
)

// scripting is a chain that runs the JavaScript of clients.
func scripting(t *testing.T, timeout time.Duration) *Node {
	t.Helper()
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.Scripts, cfg.CallTimeout, cfg.TraceBytes, cfg.Lanes = true, timeout, 1<<20, lane.New(1, 1)
	return openTemp(t, cfg)
}

// traceOf are the parameters of debug_traceCall for code that stores, calls itself once and
// stops.
func traceOf(tracer, config string) string {
	const code = `{"gas":"0x100000","input":"0x60016000555f5f5f5f5f60045af15000"}`
	return `[` + code + `,"latest",{"tracer":` + strconv.Quote(tracer) + `,"tracerConfig":` + config + `}]`
}

// TestJavaScriptTracers: what a tracer sees and returns is what go-ethereum's own would.
func TestJavaScriptTracers(t *testing.T) {
	n := scripting(t, 10*time.Second)
	for _, c := range []struct{ name, tracer, config, want string }{
		{"steps", `{n: 0, step: function(log, db) { this.n++ }, fault: function() {}, result: function() { return this.n }}`, `{}`, `13`},
		{"operations", `{l: [], step: function(log) { if (log.op.toNumber() > 0x50) this.l.push(log.op.toString()) }, fault: function() {}, result: function() { return this.l }}`, `{}`,
			`["PUSH1","PUSH1","SSTORE","PUSH0","PUSH0","PUSH0","PUSH0","PUSH0","PUSH1","GAS","CALL"]`},
		{"frames", `{f: [], enter: function(f) { this.f.push(f.getType()) }, exit: function(r) { this.f.push(r.getError() === undefined) }, fault: function() {}, result: function() { return this.f }}`, `{}`, `["CALL",true]`},
		{"settings", `{setup: function(c) { this.c = JSON.parse(c) }, fault: function() {}, result: function(ctx) { return this.c.word + ctx.type }}`, `{"word":"a "}`, `"a CREATE"`},
		{"go-ethereum's own", "opcountTracer", `{}`, `13`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := call(t, n, "debug_traceCall", traceOf(c.tracer, c.config))
			if c.name == "operations" {
				got = strings.ReplaceAll(got, `"POP",`, "")
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestJavaScriptInBlocks: each transaction of a block has its own tracer.
func TestJavaScriptInBlocks(t *testing.T) {
	n := scripting(t, 10*time.Second)
	const tracer = `{n: 0, step: function() { this.n++ }, fault: function() {}, result: function() { return this.n }}`
	var list []struct{ Result int }
	text := call(t, n, "debug_traceBlockByNumber", `["0x7",{"tracer":`+strconv.Quote(tracer)+`}]`)
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		t.Errorf("%s: %v", text, err)
	}
}

// TestJavaScriptEnds: code without an end is stopped wherever it is, and what it held is
// given back.
func TestJavaScriptEnds(t *testing.T) {
	full.Slow(t)
	n := scripting(t, 300*time.Millisecond)
	const rest = `fault: function() {}, result: function() { return 1 }}`
	for name, tracer := range map[string]string{
		"while it is read": `(function() { while (true) {} })()`,
		"in its setup":     `{setup: function() { while (true) {} }, ` + rest,
		"at a step":        `{step: function() { while (true) {} }, ` + rest,
		"in a frame":       `{enter: function() { while (true) {} }, exit: function() {}, ` + rest,
		"in its result":    `{fault: function() {}, result: function() { while (true) {} }}`,
		"and catches":      `{fault: function() {}, result: function() { while (true) { try { while (true) {} } catch (e) {} } }}`,
		"in a getter":      `{get result() { while (true) {} }, fault: function() {}}`,
		"in toJSON":        `{fault: function() {}, result: function() { return {toJSON: function() { while (true) {} }} }}`,
		"behind the quote": `1)"); while (true) {} ("(1`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := n.Call(t.Context(), "debug_traceCall", []byte(traceOf(tracer, `{}`)))
			if name == "behind the quote" { // is no JavaScript
				wantCode(t, err, nodegate.ExecutionFailed)
			} else {
				wantCode(t, err, nodegate.Timeout)
			}
			leave, err := n.lanes.Enter(t.Context()) // waits for the seat
			if err != nil {
				t.Fatal(err)
			}
			leave()
		})
	}
}

// TestJavaScriptRefused: what is no tracer is refused, and results have a largest size.
func TestJavaScriptRefused(t *testing.T) {
	n := scripting(t, 10*time.Second)
	for _, c := range []struct {
		tracer, config string
		code           nodegate.Code
		words          string
	}{
		{"noSuchTracer", `{}`, nodegate.InvalidParams, "or the code of a JavaScript object"},
		{"callTracerLegacy", `{}`, nodegate.InvalidParams, "or the code of a JavaScript object"},
		{"nodegateBounded", `{}`, nodegate.InvalidParams, "unknown tracer"},
		{"muxTracer", `{"{}":{}}`, nodegate.InvalidParams, "takes the names of tracers"},
		{"{step: 1", `{}`, nodegate.ExecutionFailed, "SyntaxError"},
		{"{}", `{}`, nodegate.ExecutionFailed, "must expose a function result()"},
		{"{fault: function() {}, enter: function() {}, result: function() {}}", `{}`, nodegate.ExecutionFailed, "both or none of enter() and exit()"},
		{"{fault: function() {}, result: function() { return nothing.here }}", `{}`, nodegate.ExecutionFailed, "nothing is not defined"},
		{`{fault: function() {}, result: function() { return "x".repeat(2e6) }}`, `{}`, nodegate.ResponseTooLarge, "response too large"},
	} {
		_, err := n.Call(t.Context(), "debug_traceCall", []byte(traceOf(c.tracer, c.config)))
		if e := wantCode(t, err, c.code); !strings.Contains(e.Msg, c.words) {
			t.Errorf("%s: %s", c.tracer, e.Msg)
		}
	}
}
