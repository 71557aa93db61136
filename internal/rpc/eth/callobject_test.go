package eth

import (
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// eachDialect runs a call in every dialect and says which of them took it.
func eachDialect(t *testing.T, method, params string, check func(name string, fake *fakeNode, err error)) {
	t.Helper()
	for _, d := range dialects {
		fake := newFake()
		_, err := New(fake, limits(d.Dialect)).Call(t.Context(), method, []byte(params))
		check(d.name, fake, err)
	}
}

func TestCallObjectIsRebuilt(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{}`, `{"gas":"0x2faf080"}`},
		{`{"gas":"0x10"}`, `{"gas":"0x10"}`},
		{`{"gas":null,"to":null}`, `{"gas":"0x2faf080"}`},
		{`{"data":"0xAB"}`, `{"gas":"0x2faf080","input":"0xab"}`},
		{`{"input":"0xab","data":"0xAB"}`, `{"gas":"0x2faf080","input":"0xab"}`},
		{`{ "value" : "0x1" , "to" : "0X00000000000000000000000000000000000000AA" }`, `{"to":"` + someAddress + `","gas":"0x2faf080","value":"0x1"}`},
		{`{"unknown":{"a":[1]},"nonce":"0x5"}`, `{"gas":"0x2faf080","nonce":"0x5"}`},
		{`{"accessList":[ {"address":"` + someAddress + `", "storageKeys":[]} ]}`, `{"gas":"0x2faf080","accessList":[{"address":"` + someAddress + `","storageKeys":[]}]}`},
		{`{"gasPrice":"0x1","chainId":"0x539"}`, `{"gas":"0x2faf080","gasPrice":"0x1","chainId":"0x539"}`},
		{`{"maxFeePerGas":"0x2","maxPriorityFeePerGas":"0x1"}`, `{"gas":"0x2faf080","maxFeePerGas":"0x2","maxPriorityFeePerGas":"0x1"}`},
	} {
		fake := newFake()
		if _, err := New(fake, limits(Spec)).Call(t.Context(), "eth_call", []byte("["+c.object+"]")); err != nil {
			t.Errorf("%s: %v", c.object, err)
			continue
		}
		if want := "eth_call [" + c.want + `,"latest"]`; fake.passed(t) != want {
			t.Errorf("%s became %s, want %s", c.object, fake.passed(t), want)
		}
	}
}

func TestCallObjectRefused(t *testing.T) {
	for _, c := range []struct{ params, msg string }{
		{`[]`, "missing value for required argument 0"},
		{`[null]`, "missing value for required argument 0"},
		{`["0x"]`, "invalid argument 0: non-object"},
		{`[[]]`, "invalid argument 0: non-object"},
		{`[5]`, "invalid argument 0: non-object"},
		{`[{"from":"0x12"}]`, "invalid argument 0: from: hex string has length 2, want 40"},
		{`[{"to":5}]`, "invalid argument 0: to: non-"},
		{`[{"gas":5}]`, "invalid argument 0: gas: non-"},
		{`[{"gas":"0x01"}]`, "invalid argument 0: gas: hex number with leading zero digits"},
		{`[{"gas":"0x10000000000000000"}]`, "invalid argument 0: gas: hex number > 64 bits"},
		{`[{"value":"0x1` + strings.Repeat("0", 64) + `"}]`, "invalid argument 0: value: hex number > 256 bits"},
		{`[{"value":"-0x1"}]`, "invalid argument 0: value: hex string without 0x prefix"},
		{`[{"data":"0x1"}]`, "invalid argument 0: data: hex string of odd length"},
		{`[{"input":"abcd"}]`, "invalid argument 0: input: hex string without 0x prefix"},
		{`[{"accessList":{}}]`, "invalid argument 0: accessList: "},
		{`[{"accessList":[{"address":"0x1","address":"0x2"}]}]`, "invalid argument 0: accessList: "},
		{`[{"from":"` + someAddress + `","from":"` + someAddress + `"}]`, `invalid argument 0: field "from" is given twice`},
		{`[{"gas":null,"gas":"0x1"}]`, `invalid argument 0: field "gas" is given twice`},
		{`[{"From":"` + someAddress + `"}]`, `invalid argument 0: unknown field "From": it is spelled "from"`},
		{`[{"\u0046rom":"` + someAddress + `"}]`, `invalid argument 0: unknown field "From": it is spelled "from"`},
		{`[{"GAS":"0x1"}]`, `invalid argument 0: unknown field "GAS": it is spelled "gas"`},
		{`[{},"latest",{},{},{}]`, "too many arguments, want at most 4"},
		{`[{},"latest",[]]`, "invalid argument 2: "},
		{`[{},"latest",{"a":1,"a":2}]`, "invalid argument 2: "},
		{`[{},"latest",null,5]`, "invalid argument 3: "},
	} {
		for _, method := range []string{"eth_call", "eth_estimateGas"} {
			fake := newFake()
			_, err := New(fake, limits(Spec)).Call(t.Context(), method, []byte(c.params))
			wantError(t, err, nodegate.InvalidParams, c.msg)
			if len(fake.asked) > 0 {
				t.Errorf("%s reached the node", c.params)
			}
		}
	}
}

func TestInputAgainstData(t *testing.T) {
	eachDialect(t, "eth_call", `[{"from":"`+someAddress+`","input":"0x01","data":"0x02"},"latest"]`, func(name string, fake *fakeNode, err error) {
		if name != "standard" {
			wantError(t, err, nodegate.InvalidParams, `invalid argument 0: both "data" and "input" are set and not equal`)
			return
		}
		if err != nil || !strings.Contains(fake.passed(t), `"input":"0x01"`) || strings.Contains(fake.passed(t), "0x02") {
			t.Errorf("%s: %q, %v", name, fake.asked, err)
		}
	})
}

func TestFromAndTo(t *testing.T) {
	eachDialect(t, "eth_call", `[{"to":"`+someAddress+`"},"latest"]`, func(name string, _ *fakeNode, err error) {
		if (err != nil) != (name == "strict") {
			t.Errorf("%s: eth_call without from: %v", name, err)
		}
	})
	eachDialect(t, "eth_estimateGas", `[{"from":"`+someAddress+`","input":"0x00"},"latest"]`, func(name string, _ *fakeNode, err error) {
		if (err != nil) != (name == "strict") {
			t.Errorf("%s: eth_estimateGas without to: %v", name, err)
		}
	})
}

// The cap is ten times the gas limit of the newest block: 300 million here.
func TestGasCap(t *testing.T) {
	for _, method := range []string{"eth_call", "eth_estimateGas"} {
		at := `[{"from":"` + someAddress + `","to":"` + someAddress + `","gas":"0x11e1a300"},"latest"]`
		eachDialect(t, method, at, func(name string, fake *fakeNode, err error) {
			if err != nil || !strings.Contains(fake.passed(t), `"gas":"0x11e1a300"`) {
				t.Errorf("%s %s at the cap: %q, %v", name, method, fake.asked, err)
			}
		})
		above := strings.Replace(at, "0x11e1a300", "0x11e1a301", 1)
		eachDialect(t, method, above, func(name string, fake *fakeNode, err error) {
			if name != "standard" {
				wantError(t, err, nodegate.InvalidParams, "invalid argument 0: gas: 300000001 is above the cap of 300000000")
				return
			}
			if err != nil || !strings.Contains(fake.passed(t), `"gas":"0x11e1a300"`) {
				t.Errorf("%s %s above the cap: %q, %v", name, method, fake.asked, err)
			}
		})
	}
}

// An estimate's own upper bound is for the node: it gets no gas that wasn't asked for.
func TestEstimateWithoutGas(t *testing.T) {
	fake := newFake()
	if _, err := New(fake, limits(Spec)).Call(t.Context(), "eth_estimateGas", []byte(`[{}]`)); err != nil || fake.passed(t) != `eth_estimateGas [{},"latest"]` {
		t.Errorf("%q, %v", fake.asked, err)
	}
}

func TestOverridesArePassedOn(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`[{},"latest", { "` + someAddress + `" : {"balance" : "0x1"} } ]`, `,"latest",{"` + someAddress + `":{"balance":"0x1"}}]`},
		{`[{},"latest",null,{"time":"0x1"}]`, `,"latest",null,{"time":"0x1"}]`},
		{`[{},"latest",null,null]`, `,"latest"]`},
		{`[{},null,{}]`, `,"latest",{}]`},
	} {
		for _, method := range []string{"eth_call", "eth_estimateGas"} {
			fake := newFake()
			_, err := New(fake, limits(Spec)).Call(t.Context(), method, []byte(c.params))
			if err != nil || !strings.HasSuffix(fake.passed(t), c.want) {
				t.Errorf("%s %s: %q, %v", method, c.params, fake.asked, err)
			}
		}
	}
}
