package jsonrpc

// Request is one call as scanned. Its slices point into the scanned body.
//
// An answer is due exactly when ID is not nil: a notification has none, and
// neither has a notification whose params are refused.
type Request struct {
	ID     []byte // the id's token exactly as sent: a number, a string or null; nil when absent
	Method []byte // the decoded name; a slice of the body unless it had escapes
	Params []byte // the raw JSON array; nil when absent or null
	Err    *Fault // why this is not a request, nil when it is one; ID is then what to echo
}

// Notification reports whether r is to be executed and not answered.
func (r *Request) Notification() bool { return r.ID == nil && r.Err == nil }

// Fault is an error of the envelope itself. The package hands out only the ones
// below, so they can be compared by identity. They are not to be changed.
type Fault struct {
	Code    int
	Message string
}

// The faults, in the words that Geth uses.
var (
	ParseError     = &Fault{-32700, "parse error"}
	InvalidRequest = &Fault{-32600, "invalid request"}
	EmptyBatch     = &Fault{-32600, "empty batch"}
	BatchTooLarge  = &Fault{-32600, "batch too large"}
	NonArrayArgs   = &Fault{-32602, "non-array args"}
)

// nullID is echoed where the id of a request can't be. Nobody writes to an id.
var nullID = []byte("null")
