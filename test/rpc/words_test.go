package rpc_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

// goType is how the name of one of Go's types looks in an error.
var goType = regexp.MustCompile(`Go (value|struct)|\b(common|hexutil|ethapi|rpc|types|override|tracers|filters|json)\.[A-Z]|\*?\[\]?(string|byte|uint)|unmarshal`)

// TestErrorsWithoutTypes gives every method parameters of every wrong kind. No error may show
// what the server is written in.
func TestErrorsWithoutTypes(t *testing.T) {
	s := start(t, only("devnet")) // some methods change the chain
	wrong := []string{`1`, `true`, `"x"`, `"0x"`, `"0xabc"`, `{}`, `[]`, `[1]`, `{"to":1}`, `{"fromBlock":{}}`, `{"tracer":1}`, `"0x1111111111111111111111111111111111111111"`}
	for _, name := range method.Counted() {
		for _, one := range wrong {
			for _, params := range []string{one, `"latest",` + one, one + `,` + one + `,` + one} {
				_, body := exchange(t, http.DefaultClient, request(t, http.MethodPost, s.url("devnet", keyA), `{"jsonrpc":"2.0","id":1,"method":"`+name+`","params":[`+params+`]}`))
				if said := goType.FindString(body); said != "" && strings.Contains(body, `"error"`) {
					t.Errorf("%s [%s]: %q in %.300s", name, params, said, body)
				}
			}
		}
	}
}
