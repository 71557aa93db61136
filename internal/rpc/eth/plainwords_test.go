package eth

import (
	"errors"
	"testing"

	"github.com/nodegate/nodegate"
)

func TestPlainWords(t *testing.T) {
	for said, want := range map[string]string{
		"invalid argument 0: json: cannot unmarshal hex string of odd length into Go value of type common.Address":                                           "invalid argument 0: hex string of odd length, want an address: 0x and 40 digits",
		"invalid argument 0: gas: json: cannot unmarshal non-string into Go value of type hexutil.Uint64":                                                    "invalid argument 0: gas: non-string, want a number in hex, such as 0x10",
		"invalid argument 0: json: cannot unmarshal hex string of odd length into Go struct field TransactionArgs.accessList.address of type common.Address": "invalid argument 0: accessList.address: hex string of odd length, want an address: 0x and 40 digits",
		"invalid argument 3: json: cannot unmarshal hex string without 0x prefix into Go struct field BlockOverrides.Number of type *hexutil.Big":            "invalid argument 3: Number: hex string without 0x prefix, want a number in hex, such as 0x10",
		"invalid argument 1: json: cannot unmarshal non-bool into Go struct field .requireCanonical of type bool":                                            "invalid argument 1: requireCanonical: non-bool, want true or false",
		"invalid argument 0: json: cannot unmarshal object into Go value of type secret.Type":                                                                "invalid argument 0: object",
		"invalid argument 0: accessList: json: cannot unmarshal non-array":                                                                                   "invalid argument 0: accessList: non-array",
		"invalid argument 0: hex string has length 2, want 40 for common.Address":                                                                            "invalid argument 0: hex string has length 2, want 40 for an address",
		"missing value for required argument 1":     "missing value for required argument 1",
		"tracer not found. Use one of these for it": "tracer not found. Use one of these for it",
	} {
		if got := plainWords(said); got != want {
			t.Errorf("%s\nis     %s\nwanted %s", said, got, want)
		}
	}
}

// TestOnlyParameters: errors of other kinds stay as they are, and nothing is changed in place.
func TestOnlyParameters(t *testing.T) {
	text := "json: cannot unmarshal string into Go value of type common.Hash"
	for _, err := range []error{errors.New(text), &nodegate.Error{Code: nodegate.ExecutionFailed, Msg: text}} {
		if got := inPlainWords(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	shared := &nodegate.Error{Code: nodegate.InvalidParams, Msg: text}
	if got := inPlainWords(shared); got.Error() == shared.Error() || shared.Msg != text {
		t.Errorf("%v and %v", got, shared)
	}
	if inPlainWords(nil) != nil {
		t.Error("an error came from nothing")
	}
}
