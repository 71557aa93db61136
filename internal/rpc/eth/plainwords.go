package eth

import (
	"errors"
	"strings"

	"github.com/nodegate/nodegate"
)

// expected says what a parameter should be, by the type that go-ethereum decodes it into.
var expected = map[string]string{
	"common.Address":               "an address: 0x and 40 digits",
	"common.Hash":                  "a hash: 0x and 64 digits",
	"hexutil.Uint":                 "a number in hex, such as 0x10",
	"hexutil.Uint64":               "a number in hex, such as 0x10",
	"hexutil.Big":                  "a number in hex, such as 0x10",
	"hexutil.U256":                 "a number in hex, such as 0x10",
	"hexutil.Bytes":                "bytes in hex, such as 0x1234",
	"string":                       "a string",
	"[]string":                     "an array of strings",
	"bool":                         "true or false",
	"rpc.BlockNumberOrHash":        "a block's number, tag or hash",
	"rpc.BlockNumber":              "a block's number or tag",
	"rpc.ID":                       "the id of a filter",
	"ethapi.TransactionArgs":       "a transaction object",
	"override.StateOverride":       "an object with an account for each address",
	"override.BlockOverrides":      "an object with fields of a block",
	"filters.FilterCriteria":       "a filter object",
	"tracers.TraceConfig":          "an object with options of a trace",
	"tracers.TraceCallConfig":      "an object with options of a trace",
	"types.AccessList":             "an access list",
	"types.SetCodeAuthorization":   "an authorization",
	"[]types.SetCodeAuthorization": "an array of authorizations",
}

// The parts of what go-ethereum says of a parameter that it can't decode.
const (
	cannot   = "json: cannot unmarshal "
	intoType = " into Go value of type "
	intoName = " into Go struct field "
	ofType   = " of type "
	forType  = " for "
)

// inPlainWords puts an error about a parameter into words without the names of Go's types.
// It keeps what clients look for: the code, and which argument it is.
func inPlainWords(err error) error {
	if err == nil {
		return nil
	}
	var e *nodegate.Error
	if !errors.As(err, &e) || e.Code != nodegate.InvalidParams {
		return err
	}
	said := *e
	said.Msg = plainWords(e.Msg)
	return &said
}

func plainWords(msg string) string {
	before, rest, found := strings.Cut(msg, cannot)
	if !found {
		return plainLength(msg)
	}
	if what, kind, ok := strings.Cut(rest, intoType); ok {
		return before + what + wanted(kind)
	}
	what, field, ok := strings.Cut(rest, intoName)
	if !ok {
		return before + rest
	}
	name, kind, _ := strings.Cut(field, ofType)
	_, member, _ := strings.Cut(name, ".") // what stands before is a type
	return before + member + ": " + what + wanted(kind)
}

// plainLength does the same to "hex string has length 2, want 40 for common.Address".
func plainLength(msg string) string {
	at := strings.LastIndex(msg, forType)
	if at < 0 || !strings.Contains(msg[:at], "has length ") {
		return msg
	}
	kind, _, _ := strings.Cut(wanted(msg[at+len(forType):]), ":")
	return msg[:at] + strings.Replace(kind, ", want", " for", 1)
}

// wanted says what a type stands for. Of one that nobody knows it says nothing.
func wanted(kind string) string {
	if words, ok := expected[strings.TrimPrefix(kind, "*")]; ok {
		return ", want " + words
	}
	return ""
}
