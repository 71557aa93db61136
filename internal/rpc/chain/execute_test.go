package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/test/full"
)

// blakeInput asks the BLAKE2 contract for so many rounds.
func blakeInput(rounds uint32) string {
	return fmt.Sprintf("0x%08x%s", rounds, strings.Repeat("00", 209))
}

// blakeCode is code that calls the BLAKE2 contract and returns whether it failed.
func blakeCode(rounds uint32) string {
	return fmt.Sprintf("0x63%08x60e01b5f52"+"60405f60d55f60095afa"+"5f5260205ff3", rounds)
}

const (
	anyone  = "0x00000000000000000000000000000000000000aa"
	blake   = "0x0000000000000000000000000000000000000009"
	pairing = "0x0000000000000000000000000000000000000008"
	modexp  = "0x0000000000000000000000000000000000000005"
)

// power is an input of the contract for modular powers that is estimated to take too long.
var power = "0x" + fmt.Sprintf("%064x%064x%064x", 300, 300, 300) + strings.Repeat("ff", 900)

// longCalls are requests that would run for many times the timeout of shortNode, on both
// paths.
func longCalls() []request {
	const gas = "0x2faf080"
	inCode := callShape{gas: gas, input: blakeCode(15_000_000)} // without an address, its input is run as code
	var list []request
	for _, c := range []callShape{
		{to: blake, gas: gas, input: blakeInput(15_000_000)}, inCode,
		{to: pairing, gas: gas, input: "0x" + strings.Repeat("00", 192*400)}, {to: modexp, gas: gas, input: power},
	} {
		list = append(list, c.both(`"latest"`)...)
		list = append(list, request{"eth_call", fmt.Sprintf(`[%s,"latest",{"%s":{"balance":"0x1"}}]`, c, anyone)})
	}
	return append(list,
		request{"eth_estimateGas", fmt.Sprintf(`[%s,"latest",{"%s":{"balance":"0x1"}}]`, inCode, anyone)},
		request{"eth_simulateV1", fmt.Sprintf(`[{"blockStateCalls":[{"calls":[%s]}]},"latest"]`, inCode)},
		request{"eth_createAccessList", fmt.Sprintf(`[%s,"latest"]`, inCode)},
		request{"debug_traceCall", fmt.Sprintf(`[%s,"latest",{"tracer":"callTracer"}]`, inCode)},
		request{"debug_traceCall", fmt.Sprintf(`[%s,"latest"]`, inCode)},
		request{"eth_call", fmt.Sprintf(`[{"to":"%s","gas":"%s","input":"%s"},"latest",{"%s":{"movePrecompileToAddress":"%s"}}]`,
			anyone, gas, blakeInput(45_000_000), blake, anyone)},
	)
}

// shortNode has a short timeout, and lanes that the test can look at.
func shortNode(t *testing.T) *Node {
	t.Helper()
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.CallTimeout = 100 * time.Millisecond
	cfg.TraceBytes = 1 << 20
	cfg.Lanes = lane.New(1, 1)
	return openTemp(t, cfg)
}

// A precompiled contract that runs for too long ends the whole call with a timeout. It
// never looks like a contract that failed, and nothing of it is remembered.
func TestLongContracts(t *testing.T) {
	full.Slow(t)
	n := shortNode(t)
	for range 2 { // the second time nothing may come from a memo
		for _, r := range longCalls() {
			result, err := n.Call(t.Context(), r.method, []byte(r.params))
			if e := nodegate.AsError(err); err == nil || e.Code != nodegate.Timeout || e.Msg != "request timed out" {
				t.Errorf("%s %.90s: %.80s %v", r.method, r.params, result, err)
			}
		}
	}
	leave, err := n.lanes.Enter(t.Context()) // what was stopped has given its seat back
	if err != nil {
		t.Fatal(err)
	}
	leave()
}

// Calls that leave the light slice by their gas or in the middle of their rounds give the
// same result and the same gas as in go-ethereum.
func TestLongContractsAnswer(t *testing.T) {
	full.Slow(t)
	n := shared(t, sharedDevnet)
	for _, rounds := range []uint32{0, 12, 5000, 100_000, 3_000_000} {
		for _, c := range []callShape{{to: blake, gas: "0x2faf080", input: blakeInput(rounds)}, {gas: "0x2faf080", input: blakeCode(rounds)}} {
			for _, r := range c.both(`"latest"`) {
				want, wantErr := n.unguarded(r)
				got, err := n.Call(t.Context(), r.method, []byte(r.params))
				if outcomeOf(got, err) != outcomeOf(want, wantErr) {
					t.Errorf("%d rounds, %s: %s, want %s", rounds, r.method, outcomeOf(got, err), outcomeOf(want, wantErr))
				}
			}
		}
	}
}

// unguarded asks go-ethereum's RPC server.
func (n *Node) unguarded(r request) ([]byte, error) {
	return n.attempt(context.Background(), r.method, []byte(r.params), func() {})
}

// executing are requests for every method that executes, good ones and bad ones.
func executing() []request {
	demo := callShape{to: lower(devchain.DemoAddress()), gas: "0x2faf080", input: fmt.Sprintf("%#x", packDemo("failWithReason"))}
	nested := callShape{gas: "0x2faf080", input: blakeCode(3)}
	list := []request{
		{"eth_call", `[]`}, {"eth_call", `[null]`}, {"eth_call", `[1]`}, {"eth_call", `{}`}, {"eth_call", `[{},"latest",{},{},5]`},
		{"eth_call", `[{},"0xffffff"]`}, {"eth_simulateV1", `[{"blockStateCalls":[]}]`}, {"debug_traceTransaction", `["0x00"]`},
		{"debug_traceBlockByNumber", `["0x1"]`}, {"debug_traceBlockByNumber", `["0x1",{"tracer":"callTracer"}]`},
		{"debug_traceBlockByNumber", `["0x5",null]`}, {"eth_fillTransaction", `[{"from":"` + lower(devchain.Accounts()[0].Address) + `","to":"` + anyone + `"}]`},
	}
	for _, c := range []callShape{demo, nested} {
		list = append(list, c.both(`"latest"`)...)
		list = append(list, request{"eth_createAccessList", fmt.Sprintf(`[%s,"latest"]`, c)}, request{"debug_traceCall", fmt.Sprintf(`[%s,"latest"]`, c)},
			request{"eth_simulateV1", fmt.Sprintf(`[{"blockStateCalls":[{"calls":[%s]}]},"latest"]`, c)})
		for _, config := range []string{
			`{}`, `null`, `{"tracer":"callTracer"}`, `{"tracer":"callTracer","tracerConfig":{"onlyTopCall":true,"withLog":true}}`, `{"tracer":"flatCallTracer"}`,
			`{"tracer":"prestateTracer"}`, `{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}`, `{"tracer":"4byteTracer"}`, `{"tracer":"noopTracer"}`,
			`{"tracer":"muxTracer","tracerConfig":{"callTracer":null}}`, `{"tracer":"keccak256PreimageTracer"}`, `{"tracer":"erc7562Tracer"}`,
			`{"enableMemory":true,"enableReturnData":true}`, `{"disableStack":true,"disableStorage":true}`, `{"limit":500}`, `{"tracer":"callTracer","tracerConfig":7}`,
		} {
			list = append(list, request{"debug_traceCall", fmt.Sprintf(`[%s,"latest",%s]`, c, config)})
		}
	}
	return list
}

// What executes is called by us and not by go-ethereum's RPC server; the answers are its.
func TestExecutingAnswersAsTheServer(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, r := range executing() {
		want, wantErr := n.unguarded(r)
		got, err := n.generic(t.Context(), r.method, []byte(r.params))
		if outcomeOf(got, err) != outcomeOf(want, wantErr) {
			t.Errorf("%s %s:\n%s, want\n%s", r.method, r.params, outcomeOf(got, err), outcomeOf(want, wantErr))
		}
	}
}

// traces are executions whose traces would grow without bound.
func traces() map[string]string {
	loop := "0x5b5f56"                                         // JUMPDEST PUSH0 JUMP
	calls := "0x5b" + "5f5f62080000" + "5f60045afa" + "505f56" // calls the identity contract with 512 KiB in a loop
	hashes := "0x5b" + "5f5160010180" + "5f52" + "62080000" + "5f20" + "50" + "505f56"
	config := func(tracer string) string { return `{"tracer":"` + tracer + `","timeout":"1h"}` }
	return map[string]string{
		loop + " ":   `{"timeout":"1h"}`,
		loop:         `{"limit":1000000000}`,
		loop + "   ": `{"enableMemory":true,"enableReturnData":true}`,
		calls:        config("callTracer"), calls + " ": config("flatCallTracer"), calls + "  ": config("erc7562Tracer"),
		calls + "   ": `{"tracer":"muxTracer","tracerConfig":{"callTracer":null,"muxTracer":{"callTracer":null}}}`,
		hashes:        config("keccak256PreimageTracer"),
	}
}

// A trace that grows beyond the largest answer is stopped, not kept.
func TestTracesAreBounded(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.TraceBytes = 1 << 20
	n := openTemp(t, cfg)
	for code, config := range traces() {
		params := fmt.Sprintf(`[{"gas":"0x2faf080","input":"%s"},"latest",%s]`, strings.TrimSpace(code), config)
		result, err := n.Call(t.Context(), "debug_traceCall", []byte(params))
		if e := nodegate.AsError(err); err == nil || e.Code != nodegate.ResponseTooLarge || !strings.HasPrefix(e.Msg, "response too large") {
			t.Errorf("%s: %d bytes, %v", params, len(result), err)
		}
	}
	small := `[{"gas":"0xf4240","input":"0x5b5f56"},"latest",{"limit":1000}]` // go-ethereum stops logging there
	if result, err := n.Call(t.Context(), "debug_traceCall", []byte(small)); err != nil || len(result) > 4000 {
		t.Errorf("a trace with a limit: %d bytes, %v", len(result), err)
	}
}

// A tracer can't be asked for by the name that ours has.
func TestOwnTracerHasNoName(t *testing.T) {
	n := shared(t, sharedDevnet)
	params := fmt.Sprintf(`[{"to":"%s"},"latest",{"tracer":"nodegateBounded"}]`, anyone)
	if _, err := n.Call(t.Context(), "debug_traceCall", []byte(params)); err == nil {
		t.Error("it can")
	}
}

// All chains of a process share one heavy lane.
func TestOneLane(t *testing.T) {
	full.Slow(t)
	lanes := lane.New(1, 1)
	var nodes []*Node
	for _, p := range []devchain.Preset{devchain.Devnet(), devchain.Rollup()} {
		cfg := presetConfig(p, "")
		cfg.CallTimeout, cfg.Lanes = 200*time.Millisecond, lanes
		nodes = append(nodes, openTemp(t, cfg))
	}
	leave, err := lanes.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range slices.Concat(nodes, nodes) {
		s := callShape{to: blake, gas: "0x2faf080", input: blakeInput(2_500_000)} // 50 ms, and more gas than the light slice
		for _, r := range append(s.both(`"latest"`), request{"eth_createAccessList", fmt.Sprintf(`[%s,"latest"]`, s)}) {
			_, err := n.Call(t.Context(), r.method, []byte(r.params))
			wantCode(t, err, nodegate.AccountBusy) // it has waited for the seat that we have
		}
	}
	leave()
	params := fmt.Sprintf(`[{"to":"%s","gas":"0x2faf080","input":"%s"},"latest"]`, blake, blakeInput(2_500_000))
	if _, err := nodes[1].Call(t.Context(), "eth_call", []byte(params)); err != nil && nodegate.AsError(err).Code != nodegate.Timeout {
		t.Error(err)
	}
}

// An execution with much gas that neither jumps nor calls nor hashes is stopped as well.
func TestStraightCode(t *testing.T) {
	cfg := presetConfig(devchain.Rollup(), "")
	cfg.CallTimeout = 100 * time.Millisecond
	n := openTemp(t, cfg)
	copies := strings.Repeat("63020000005f60205e", 5000) // MCOPY of 32 MiB by a word, for a minute
	s := callShape{gas: "0x4a817c800", input: "0x" + copies}
	_, err := n.Call(t.Context(), "eth_call", []byte(`[`+s.String()+`,"latest"]`))
	wantCode(t, err, nodegate.Timeout)
}

// TestLargeParams: parameters that take long to decode wait for a seat in the heavy lane.
func TestLargeParams(t *testing.T) {
	n := openDevnet(t)
	large := `["0x` + strings.Repeat("00", largeParams/2) + `"]`
	if _, err := n.Call(t.Context(), "web3_sha3", []byte(large)); err != nil {
		t.Fatal(err)
	}
	for range lane.Seats() {
		leave, err := n.lanes.Enter(nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: "another"}))
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	call(t, n, "web3_sha3", `["0x00"]`)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := n.Call(ctx, "web3_sha3", []byte(large))
	wantCode(t, err, nodegate.Timeout)
}

// TestUnknownTracers: go-ethereum would run an unknown name as JavaScript. Here it is
// refused before anything runs, with the tracers that there are.
func TestUnknownTracers(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, config := range []string{`{"tracer":"{}"}`, `{"tracer":""}`, `{"tracer":"noSuchTracer"}`, `{"tracer":"nodegateBounded"}`, `{"tracer":"muxTracer","tracerConfig":{"noSuchTracer":{}}}`, `{"tracer":"opcountTracer"}`, `{"tracer":"muxTracer","tracerConfig":{"muxTracer":{"{}":{}}}}`} {
		for _, r := range []request{{"debug_traceCall", `[{},"latest",` + config + `]`}, {"debug_traceBlockByNumber", `["0x7",` + config + `]`}} {
			_, err := n.Call(t.Context(), r.method, []byte(r.params))
			if e := wantCode(t, err, nodegate.InvalidParams); !strings.Contains(e.Msg, "callTracer") {
				t.Errorf("%s: %s", config, e.Msg)
			}
		}
	}
}

// TestTracersWithoutStop: go-ethereum stops a tracer at the client's own timeout, in a
// goroutine where nothing recovers. Not all of its tracers can be stopped.
func TestTracersWithoutStop(t *testing.T) {
	n := openDevnet(t)
	const loop = `{"gas":"0x989680","input":"0x5b5f56"}`
	for _, tracer := range []string{"keccak256PreimageTracer", "erc7562Tracer", "4byteTracer", "callTracer", "flatCallTracer", "prestateTracer", "noopTracer", "muxTracer"} {
		_, err := n.Call(t.Context(), "debug_traceCall", []byte(`[`+loop+`,"latest",{"tracer":"`+tracer+`","timeout":"1us"}]`))
		if err != nil && nodegate.AsError(err).Code == nodegate.Internal {
			t.Errorf("%s: %v", tracer, err)
		}
	}
}

// TestClientTimeouts: a client's own timeout may end a trace at any moment, also before it
// has begun. go-ethereum's tracers panic at the end of a transaction that they saw no call of.
func TestClientTimeouts(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, tracer := range []string{`"callTracer"`, `"flatCallTracer"`, `"prestateTracer"`, `"muxTracer","tracerConfig":{"callTracer":{}}`} {
		for _, timeout := range []string{"-1s", "0s", "1ns", "50us", "1h"} {
			for range 3 {
				_, err := n.Call(t.Context(), "debug_traceBlockByNumber", []byte(`["0x7",{"tracer":`+tracer+`,"timeout":"`+timeout+`"}]`))
				if err != nil {
					wantCode(t, err, nodegate.Timeout)
				}
			}
		}
	}
	_, err := n.Call(t.Context(), "debug_traceBlockByNumber", []byte(`["0x7",{"timeout":"soon"}]`))
	wantCode(t, err, nodegate.InvalidParams)
}

// TestTraceBlockWithoutEnd: the price of blobs of a block that a client made up could keep a
// seat of the heavy lane busy for years.
func TestTraceBlockWithoutEnd(t *testing.T) {
	n := shared(t, sharedDevnet)
	var raw hexutil.Bytes
	if err := json.Unmarshal([]byte(call(t, n, "debug_getRawBlock", `["0x7"]`)), &raw); err != nil {
		t.Fatal(err)
	}
	for excess, ok := range map[uint64]bool{0: true, 1 << 32: true, 1<<32 + 1: false, math.MaxUint64: false} {
		var b types.Block
		if err := rlp.DecodeBytes(raw, &b); err != nil {
			t.Fatal(err)
		}
		header := b.Header()
		header.ExcessBlobGas = &excess
		made, err := rlp.EncodeToBytes(types.NewBlockWithHeader(header).WithBody(*b.Body()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.Call(t.Context(), "debug_traceBlock", []byte(`["`+hexutil.Encode(made)+`",{"tracer":"callTracer"}]`))
		if ok { // a blob transaction can't pay such a price, which is an answer
			if err != nil && nodegate.AsError(err).Code != nodegate.ExecutionFailed {
				t.Errorf("%d: %v", excess, err)
			}
		} else if e := wantCode(t, err, nodegate.InvalidParams); !strings.Contains(e.Msg, "excessBlobGas") {
			t.Errorf("%d: %s", excess, e.Msg)
		}
	}
}

// TestTraceBlockWithoutFields: go-ethereum takes for granted that a header has the fields of
// its fork, and fails in the middle of a block that lacks one.
func TestTraceBlockWithoutFields(t *testing.T) {
	n := shared(t, sharedDevnet)
	var raw hexutil.Bytes
	if err := json.Unmarshal([]byte(call(t, n, "debug_getRawBlock", `["0x7"]`)), &raw); err != nil {
		t.Fatal(err)
	}
	var block, header []rlp.RawValue
	mustDo(t, rlp.DecodeBytes(raw, &block))
	mustDo(t, rlp.DecodeBytes(block[0], &header))
	fields := []string{"baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"}
	if len(header) != 15+len(fields) {
		t.Fatalf("a header has %d fields", len(header))
	}
	for have := range len(fields) + 1 {
		var err error
		block[0], err = rlp.EncodeToBytes(header[:15+have])
		mustDo(t, err)
		made, err := rlp.EncodeToBytes(block)
		mustDo(t, err)
		_, err = n.Call(t.Context(), "debug_traceBlock", []byte(`["`+hexutil.Encode(made)+`"]`))
		if have == len(fields) {
			mustDo(t, err)
		} else if e := wantCode(t, err, nodegate.InvalidParams); !strings.Contains(e.Msg, fields[have]) {
			t.Errorf("without %s: %s", fields[have], e.Msg)
		}
	}
}

// TestTooLargeParams: go-ethereum's RPC server never gets megabytes to read.
func TestTooLargeParams(t *testing.T) {
	n := shared(t, sharedDevnet)
	_, err := n.Call(t.Context(), "web3_sha3", []byte(`["0x`+strings.Repeat("00", mostParams/2)+`"]`))
	if e := wantCode(t, err, nodegate.InvalidParams); !strings.Contains(e.Msg, "at most 524288 bytes") {
		t.Error(e.Msg)
	}
}

// Calls and estimates that end in time count against their account's time among the others
// if they use much gas. Brief tells that it is spent.
func TestDearCallsAreCounted(t *testing.T) {
	for _, name := range []string{"eth_call", "eth_estimateGas"} {
		t.Run(name, func(t *testing.T) {
			n := shortNode(t)
			account := func(id string) context.Context {
				return nodegate.WithGrant(t.Context(), &nodegate.Grant{AccountID: id})
			}
			brief := func(id string) bool {
				l := n.lanes.Light(account(id))
				defer l.End()
				return l.Brief
			}
			send := func(id string, i, gas int) {
				// It jumps until its gas is used up. Another sender each time: answers are remembered.
				_, _ = n.Call(account(id), name, fmt.Appendf(nil, `[{"from":"0x%040x","gas":"0x%x","input":"0x5b5f56"},"latest"]`, i+1, gas))
			}
			for i := 0; !brief("dear"); i++ {
				if send("dear", i, 1_000_000); i > 3000 {
					t.Fatal("3,000 calls that use a million gas each were not counted")
				}
			}
			// A busy machine may stop a cheap call too, which counts.
			counted := true
			for try := 0; try < 3 && counted; try++ {
				id := fmt.Sprint("cheap", try)
				for i := range 300 {
					send(id, i+300*try, 100_000)
				}
				counted = brief(id)
			}
			if counted {
				t.Error("cheap calls were counted")
			}
		})
	}
}
