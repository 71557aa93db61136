package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/nodegate/nodegate/bench/load"
)

// samples is how many requests of a workload are compared before it is measured.
const samples = 100

// checkNumber numbers the compared requests from far away, so that measuring never
// meets a call that was made here.
const checkNumber = 1 << 62

// checkAll makes sure that the servers do the same work: each must answer as Geth does.
func checkAll(list []*contestant, workloads []workload) error {
	conns := make([]*load.Conn, len(list))
	for i, c := range list {
		conn, err := load.Dial(c.url, 5*time.Minute)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer conn.Close()
		conns[i] = conn
	}
	for _, w := range workloads {
		for n := range samples {
			body := w.bodies[n*len(w.bodies)/samples].Text(checkNumber + uint64(n))
			if err := checkOne(list, conns, w.method, body); err != nil {
				return fmt.Errorf("%s: %w\nrequest: %s", w.name, err, body)
			}
		}
	}
	progress("checked: equal answers to %d requests", samples*len(workloads))
	return nil
}

func checkOne(list []*contestant, conns []*load.Conn, method string, body []byte) error {
	var want any
	for i, c := range list {
		answer, err := conns[i].Do(body)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		result, err := resultOf(answer)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		toSpec(method, result)
		if i == 0 {
			want = result
		} else if !reflect.DeepEqual(result, want) {
			return fmt.Errorf("%s answers differently\nwant:    %s\nanswer:  %s", c.name, compact(want), compact(result))
		}
	}
	return nil
}

// resultOf reads an answer. An error or null would measure something else than the
// row says.
func resultOf(answer []byte) (any, error) {
	var envelope struct {
		Result any             `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(&envelope); err != nil {
		return nil, fmt.Errorf("answer %.200q: %w", answer, err)
	}
	if envelope.Error != nil || envelope.Result == nil {
		return nil, fmt.Errorf("no result: %.300s", answer)
	}
	return envelope.Result, nil
}

// toSpec takes from Geth's answer what the default dialect leaves out: yParity of a
// transaction by hash, and the chainId of legacy transactions.
func toSpec(method string, result any) {
	tx, ok := result.(map[string]any)
	if !ok {
		return
	}
	switch method {
	case "eth_getTransactionByHash":
		delete(tx, "yParity")
	case "eth_getTransactionByBlockHashAndIndex":
	default:
		return
	}
	if tx["type"] == "0x0" {
		delete(tx, "chainId")
	}
}

func compact(v any) []byte {
	text, _ := json.Marshal(v) // it was JSON before
	return text
}
