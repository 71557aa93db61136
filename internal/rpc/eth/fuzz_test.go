package eth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// fuzzMethods are the nine, and the one whose limits are checked here.
var fuzzMethods = []string{
	"eth_getStorageAt", "eth_getProof", "eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex", "eth_getTransactionReceipt",
	"eth_getBlockReceipts", "eth_call", "eth_estimateGas", "layer2_estimateGas", "eth_getLogs",
}

// fuzzCodes are the outcomes that a client's parameters may have. Internal is not
// among them: nothing a client sends is the server's fault.
var fuzzCodes = []nodegate.Code{
	nodegate.InvalidParams, nodegate.Reverted, nodegate.ExecutionFailed, nodegate.OutsideHistory, nodegate.Timeout, nodegate.MethodNotFound,
}

// FuzzTransactionShape holds the shaping in one pass to the one of any form.
func FuzzTransactionShape(f *testing.F) {
	for _, tx := range []string{
		`{"blockHash":"0x1","type":"0x0","chainId":"0x539","v":"0x25"}`, `{"type":"0x2","chainId":"0x539","yParity":"0x1"}`, `{"chainId":"0x539","type":"0x0"}`,
		`{"type":"0x0","type":"0x2","chainId":"0x1"}`, `{"yParity":"0x0"}`, `{}`, `null`, `[]`, `{"type":"0x0"`, `{"t\u0079pe":"0x0","chainId":"0x1","r":"0x1"}`,
	} {
		f.Add([]byte(tx), true)
		f.Add([]byte(tx), false)
	}
	f.Fuzz(func(t *testing.T, tx []byte, parity bool) {
		shaped, ok := specTransaction(tx, parity)
		if !ok {
			return
		}
		got, ok := jsonrpc.Compact(nil, shaped)
		want, _ := jsonrpc.Compact(nil, Spec.filtered(tx, parity))
		if ok && string(got) != string(want) {
			t.Fatalf("%s with parity %v: got %s, want %s", tx, parity, got, want)
		}
	})
}

// FuzzParams sends arbitrary parameters to each method, in every dialect, over a
// real chain: never a panic, always an answer or an error from the table.
func FuzzParams(f *testing.F) {
	for i, method := range fuzzMethods {
		for _, params := range seedParams(method) {
			f.Add(uint8(i), []byte(params))
		}
	}
	for i, params := range oddParams {
		f.Add(uint8(i), []byte(params))
	}
	f.Fuzz(func(t *testing.T, pick uint8, params []byte) {
		checkParams(t, fuzzMethods[int(pick)%len(fuzzMethods)], params)
	})
}

// TestOddParams sends every odd list to every method.
func TestOddParams(t *testing.T) {
	for _, method := range fuzzMethods {
		for _, params := range append(seedParams(method), oddParams...) {
			checkParams(t, method, []byte(params))
		}
	}
}

func checkParams(t *testing.T, method string, params []byte) {
	for _, d := range dialects {
		cfg := limits(d.Dialect)
		cfg.Layer2, cfg.HistoryWindow = true, map[string]uint64{"eth_getTransactionReceipt": 128, "eth_getBlockReceipts": 128}
		kept := string(params)
		for _, node := range []*Node{New(devnet(), limits(d.Dialect)), New(layer2(), cfg)} {
			result, err := node.Call(t.Context(), method, params)
			if problem := outcome(result, err); problem != "" {
				t.Errorf("%s, %s %q: %s", d.name, method, params, problem)
			}
			if string(params) != kept {
				t.Fatalf("%s %q: the parameters were changed", method, kept)
			}
		}
	}
}

// outcome says what is wrong with an answer, or "".
func outcome(result []byte, err error) string {
	if err == nil {
		if !json.Valid(result) {
			return fmt.Sprintf("the answer is no JSON: %.100q", result)
		}
		return ""
	}
	var e *nodegate.Error
	switch {
	case !errors.As(err, &e):
		return fmt.Sprintf("not an *Error: %v", err)
	case !slices.Contains(fuzzCodes, e.Code):
		return fmt.Sprintf("code %q: %v", e.Code, err)
	case e.Msg == "":
		return "an error without a message"
	case e.Data != nil && !json.Valid(e.Data):
		return fmt.Sprintf("the error's data is no JSON: %s", e.Data)
	}
	return ""
}

// seedParams are plain parameters of a method and near misses.
func seedParams(method string) []string {
	demo := strings.ToLower(devchain.DemoAddress().Hex())
	calls := []string{
		`[{"to":"` + demo + `","data":"0x3fa4f245"},"latest"]`, `[{"from":"` + demo + `","to":"` + demo + `","gas":"0x186a0","value":"0x0"},"0x5"]`,
		`[{},"finalized",{"` + demo + `":{"balance":"0x1","code":"0x00","stateDiff":{}}}]`, `[{"input":"0x600060fd"},"latest",{},{"number":"0x1"}]`,
		`[{"maxFeePerGas":"0x1","accessList":[{"address":"` + demo + `","storageKeys":[]}]},"latest"]`, `[{"type":"0x4","authorizationList":[]},"latest"]`,
		`[{"blobVersionedHashes":["` + someHash + `"],"maxFeePerBlobGas":"0x1","to":"` + demo + `"},"latest"]`, `[{"gasPrice":"0x1","nonce":"0x1","chainId":"0x1"},"latest"]`,
	}
	switch method {
	case "eth_getStorageAt":
		return []string{`["` + demo + `","0x0","latest"]`, `["` + demo + `","","0x1"]`, `["` + demo + `","0x0",{"blockHash":"` + someHash + `","requireCanonical":true}]`}
	case "eth_getProof":
		return []string{`["` + demo + `",["0x0","1"],"latest"]`, `["` + demo + `",[],"pending"]`, `["` + demo + `",["0x0"],"earliest"]`}
	case "eth_getTransactionByBlockHashAndIndex":
		return []string{`["` + someHash + `","0x0"]`, `["` + someHash + `","0xffffffffffffffff"]`}
	case "eth_getTransactionByHash", "eth_getTransactionReceipt":
		return []string{`["` + someHash + `"]`, `["0xeb9dcedafb214c411538e6bc1ac524f5133299da1fac9901b8fe4c58d33aae79"]`}
	case "eth_getBlockReceipts":
		return []string{`["latest"]`, `[5]`, `["10"]`, `["` + someHash + `"]`, `[{"blockNumber":"0x1"}]`}
	case "eth_getLogs":
		return []string{`[{"fromBlock":"0x0","toBlock":"latest","address":["` + demo + `"],"topics":[null,["` + someHash + `"]]}]`, `[{"blockHash":"` + someHash + `"}]`}
	}
	return calls
}

// oddParams are of no method in particular.
var oddParams = []string{
	"", "null", "{}", "[]", "[null]", "[null,null,null,null]", "[[[[]]]]", `[""]`, `["",""]`, `["","",""]`, "[0]", "[-1,1e400]", "[true,false]", "[", `["`, "[\"\\ud800\"]", "[\"\xff\"]",
	`[{}]`, `[{},{}]`, `[{},{},{}]`, `[{},{},{},{}]`, `[{},"latest",{"a":{}}]`, `[{"":""}]`, `[{"to":""}]`, `[{"data":""}]`, `[{"value":""}]`, `[{"gas":"0xffffffffffffffff"}]`, `[{"input":null,"data":null}]`,
	`["latest"]`, `["0x","0x","0x"]`, ` [ "latest" ] `, "[\"latest\"]\n", `["latest"]x`, `["latest",]`, strings.Repeat("[", 100) + strings.Repeat("]", 100), `[{"accessList":[null]}]`,
	`[{"accessList":[{"address":null}]},"latest"]`, `[{"authorizationList":[{}]},"latest"]`, `[{"blobs":["0x00"]},"latest"]`, `[{},"latest",{"0x0000000000000000000000000000000000000001":null}]`,
	`[{},"latest",{"0x0000000000000000000000000000000000000001":{"movePrecompileToAddress":"0x0000000000000000000000000000000000000002"}}]`,
	`[{},"latest",{"0x00000000000000000000000000000000000000aa":{"state":{},"stateDiff":{}}}]`, `[{},"latest",null,{"beaconRoot":"0x00"}]`,
	`[{},"latest",{},{"gasLimit":"0x0","time":"0xffffffffffffffff","number":"0xffffffffffffffffffffffffff","baseFeePerGas":"0x1"}]`,
}
