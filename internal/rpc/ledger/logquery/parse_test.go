package logquery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/eth/filters"
)

const (
	someAddress = `"0xdAC17F958D2ee523a2206206994597C13D831ec7"`
	someTopic   = `"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"`
	someRange   = `"fromBlock":"0x1","toBlock":"0x1f"`
)

// accepted are parameters that are read, with what comes of them.
var accepted = map[string]string{
	`[{` + someRange + `}]`:                                                                              "1-31 [] []",
	`[{"toBlock":"0x7fffffffffffffff","fromBlock":"0x0"}]`:                                               "0-9223372036854775807 [] []",
	`[{` + someRange + `,"address":null,"topics":null}]`:                                                 "1-31 [] []",
	`[{` + someRange + `,"address":[],"topics":[]}]`:                                                     "1-31 [] []",
	`[{` + someRange + `,"address":` + someAddress + `}]`:                                                "1-31 [dac1] []",
	`[{` + someRange + `,"address":[` + someAddress + `,` + someAddress + `]}]`:                          "1-31 [dac1] []",
	`[{` + someRange + `,"topics":[null,[],` + someTopic + `,[` + someTopic + `]]}]`:                     "1-31 [] [[] [] [ddf2] [ddf2]]",
	`[ { "blockHash" : ` + someTopic + ` , "topics" : [ ` + someTopic + ` ] } ]`:                         "ddf2 [] [[ddf2]]",
	`[{"address":[` + someAddress + `,"0x0000000000000000000000000000000000000001"],` + someRange + `}]`: "1-31 [0000 dac1] []",
}

// refused are parameters that are left to a node, whatever it makes of them.
var refused = []string{
	``, `[]`, `{}`, `null`, `[null]`, `[[]]`, `[{}]`, `[{` + someRange + `},{}]`, `[{` + someRange + `},null]`, `[{` + someRange + `}`, `[{` + someRange + `}]x`,
	`[{"fromBlock":"0x1"}]`, `[{"toBlock":"0x1"}]`, `[{"fromBlock":"0x2","toBlock":"0x1"}]`, `[{"fromBlock":"0x1","toBlock":"latest"}]`,
	`[{"fromBlock":"0x01","toBlock":"0x2"}]`, `[{"fromBlock":"0x","toBlock":"0x2"}]`, `[{"fromBlock":1,"toBlock":"0x2"}]`, `[{"fromBlock":"0X1","toBlock":"0x2"}]`,
	`[{"fromBlock":"0x1","toBlock":"0x8000000000000000"}]`, `[{"fromBlock":"0x+1","toBlock":"0x2"}]`, `[{"fromBlock":"0x0_1","toBlock":"0x2"}]`,
	`[{"fromBlock":null,"toBlock":"0x2"}]`, `[{"fromBlock":"0x1","toBlock":"0x2","fromBlock":"0x1"}]`, `[{"FromBlock":"0x1","toBlock":"0x2"}]`,
	`[{` + someRange + `,"blockHash":` + someTopic + `}]`, `[{` + someRange + `,"blockHash":null}]`, `[{"blockHash":null}]`, `[{"blockHash":"0x12"}]`,
	`[{"blockHash":` + someTopic + `,"fromBlock":"0x1"}]`, `[{"blockHash":` + someTopic + `,"toBlock":null}]`,
	`[{` + someRange + `,"limit":1}]`, `[{` + someRange + `,"address":""}]`, `[{` + someRange + `,"address":[null]}]`, `[{` + someRange + `,"address":[[` + someAddress + `]]}]`,
	`[{` + someRange + `,"address":"0X` + someAddress[3:] + `}]`, `[{` + someRange + `,"address":{}}]`, `[{` + someRange + `,"address":1}]`, `[{` + someRange + `,"address":` + someTopic + `}]`,
	`[{` + someRange + `,"topics":` + someTopic + `}]`, `[{` + someRange + `,"topics":[` + someAddress + `]}]`, `[{` + someRange + `,"topics":[[null]]}]`, `[{` + someRange + `,"topics":[[[]]]}]`,
	`[{` + someRange + `,"topics":[null,null,null,null,null]}]`, `[{` + someRange + `,"topics":[],"topics":[]}]`, `[{` + someRange + `,"topics":[1]}]`,
	`[{` + someRange + `,"address":[` + strings.Repeat(someAddress+",", maxValues) + someAddress + `]}]`,
	`[{` + someRange + `,"topics":[[` + strings.Repeat(someTopic+",", maxValues) + someTopic + `]]}]`,
}

// short writes a filter with the beginnings of its values.
func short(f *Filter) string {
	begins := func(list [][]byte) []string {
		out := []string{}
		for _, v := range list {
			out = append(out, fmt.Sprintf("%x", v[:2]))
		}
		return out
	}
	where := fmt.Sprintf("%d-%d", f.From, f.To)
	if f.Hash != nil {
		where = fmt.Sprintf("%x", f.Hash[:2])
	}
	topics := [][]string{}
	for _, list := range f.topics {
		topics = append(topics, begins(list))
	}
	return fmt.Sprint(where, " ", begins(f.addresses), " ", topics)
}

func TestParse(t *testing.T) {
	for params, want := range accepted {
		f, ok := Parse([]byte(params))
		if !ok {
			t.Errorf("%s is refused", params)
		} else if got := short(f); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
	for _, params := range refused {
		if f, ok := Parse([]byte(params)); ok {
			t.Errorf("%.300s is read as %s", params, short(f))
		}
	}
}

// Whatever is read means the same to go-ethereum.
func FuzzParse(f *testing.F) {
	for params := range accepted {
		f.Add([]byte(params))
	}
	for _, params := range refused {
		if len(params) < 1000 {
			f.Add([]byte(params))
		}
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		got, ok := Parse(params)
		if !ok {
			return
		}
		var list []filters.FilterCriteria
		if err := json.Unmarshal(params, &list); err != nil || len(list) != 1 {
			t.Fatalf("go-ethereum doesn't read %q: %v", params, err)
		}
		if want, err := meaning(&list[0]); err != nil || short(want) != short(got) || !same(want, got) {
			t.Fatalf("%q: got %s, want %s, %v", params, short(got), short(want), err)
		}
	})
}

// meaning is what go-ethereum read.
func meaning(c *filters.FilterCriteria) (*Filter, error) {
	f := &Filter{}
	switch {
	case c.BlockHash != nil:
		f.Hash = (*[32]byte)(c.BlockHash)
	case c.FromBlock == nil || c.ToBlock == nil:
		return f, fmt.Errorf("no range")
	default:
		f.From, f.To = c.FromBlock.Uint64(), c.ToBlock.Uint64()
	}
	for _, a := range c.Addresses {
		f.addresses = append(f.addresses, a.Bytes())
	}
	for _, list := range c.Topics {
		var values [][]byte
		for _, v := range list {
			values = append(values, v.Bytes())
		}
		f.topics = append(f.topics, values)
	}
	f.sort()
	return f, nil
}

func same(a, b *Filter) bool {
	flat := func(f *Filter) []byte {
		out := bytes.Join(f.addresses, nil)
		for _, list := range f.topics {
			out = append(append(out, '|'), bytes.Join(list, nil)...)
		}
		return out
	}
	return bytes.Equal(flat(a), flat(b)) && len(a.topics) == len(b.topics) && (a.Hash == nil) == (b.Hash == nil) && (a.Hash == nil || *a.Hash == *b.Hash)
}
