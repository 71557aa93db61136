package nodegate

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// Code classifies an Error. It is itself an error, so that
// errors.Is(err, nodegate.InvalidParams) reads as it sounds.
//
// Three tables map it: to JSON-RPC codes in internal/rpc/edge, to HTTP statuses in
// internal/web, to exit codes in cmd/nodegate. A test walks all codes through each.
type Code uint8

// The codes. New ones go at the end of their group; every table has a row for each.
const (
	// Internal is anything unforeseen. The client sees an id, the log the cause.
	Internal Code = iota

	ParseError       // not JSON, or bytes after it
	InvalidRequest   // JSON, but not a request
	MethodNotFound   // unknown or disallowed method
	InvalidParams    // wrong number, type or form of a parameter
	Reverted         // the EVM reverted; Data holds the revert data
	ExecutionFailed  // any other failure that the node explains
	NodeFault        // a node's own code, carried in Number
	OutsideHistory   // older than the network's history window
	Timeout          // the execution or the node took too long
	ResponseTooLarge // the answer passes its limit
	Unverified       // the network gives verified answers only, and this would be a node's word

	NoNode // every node of the network is down
	Busy   // the server sheds load; RetryAfter says for how long

	KeyRequired    // no API key
	KeyInvalid     // unknown or revoked API key
	SecretInvalid  // the key wants its secret
	Forbidden      // refused by the key's own settings
	UnknownNetwork // no network of that name
	RateLimited    // credits a second used up
	CreditsSpent   // credits of the day used up
	AccountBusy    // the account uses its whole share of the server; RetryAfter says for how long

	HTTPMethod // not POST
	TooLarge   // the request body passes its limit
	MediaType  // not a JSON content type

	UpgradeRequired // a plain request to an address that serves WebSockets only

	InvalidInput // a value that a user of the control plane gave
	NotFound     // no such account, key or session, or somebody else's
	Conflict     // taken, or changed by somebody else meanwhile
	SignInFailed // wrong e-mail address or password
	CardDeclined // the payment processor refuses the card
	CardRequired // no valid billing card on the account

	QuotaReached        // the account has all that it may: bytes stored, or API keys
	InsufficientStorage // the disk is almost full: writes wait, reads go on
	Damaged             // a stored block is not what it was; adding it again repairs it
	Mismatch            // an upload is not what the client said it would be

	BadConfig // the configuration or the data folder can't be used

	codeCount // not a code: how many there are
)

var codeNames = [codeCount]string{
	Internal: "internal", ParseError: "parse error", InvalidRequest: "invalid request",
	MethodNotFound: "method not found", InvalidParams: "invalid params", Reverted: "reverted",
	ExecutionFailed: "execution failed", NodeFault: "node fault", OutsideHistory: "outside history",
	Timeout: "timeout", ResponseTooLarge: "response too large", Unverified: "unverified", NoNode: "no node", Busy: "busy",
	KeyRequired: "key required", KeyInvalid: "key invalid", SecretInvalid: "secret invalid",
	Forbidden: "forbidden", UnknownNetwork: "unknown network", RateLimited: "rate limited",
	CreditsSpent: "credits spent", AccountBusy: "account busy", HTTPMethod: "http method", TooLarge: "too large",
	MediaType: "media type", UpgradeRequired: "upgrade required", InvalidInput: "invalid input", NotFound: "not found", Conflict: "conflict",
	SignInFailed: "sign-in failed", CardDeclined: "card declined", CardRequired: "card required",
	QuotaReached: "quota reached", InsufficientStorage: "insufficient storage", Damaged: "damaged",
	Mismatch: "mismatch", BadConfig: "bad config",
}

// Error makes a Code usable as the target of errors.Is.
func (c Code) Error() string { return c.String() }

// String names the code as it appears in metrics and logs.
func (c Code) String() string {
	if c < codeCount {
		return codeNames[c]
	}
	return codeNames[Internal]
}

// Codes lists every code, for the tests that walk the mapping tables.
func Codes() []Code {
	codes := make([]Code, codeCount)
	for i := range codes {
		codes[i] = Code(i)
	}
	return codes
}

// Error is the one error type of the service.
type Error struct {
	Op         string          // where it happened, for the log: "chain.import"
	Code       Code            // what kind it is
	Msg        string          // what the user is told
	Number     int             // the node's own JSON-RPC code, with NodeFault
	Data       json.RawMessage // machine-readable detail for the user, one JSON value
	RetryAfter time.Duration   // when trying again makes sense, with Busy and RateLimited
	Err        error           // the cause: for the log, never for the user
}

// Error renders the whole chain for the log.
func (e *Error) Error() string {
	s := e.Msg
	if s == "" {
		s = e.Code.String()
	}
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap yields the code and the cause, so that errors.Is finds either.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// AsError returns err as an *Error. What is not one is Internal: its text is for
// the log and never for the user.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: Internal, Msg: "internal error", Err: err}
}

// ErrTimeout is the error of a call that ran out of time, in the words of the contract.
func ErrTimeout(op string, cause error) *Error {
	return &Error{Op: op, Code: Timeout, Msg: "request timed out", Err: cause}
}

// invalid is the error of a value that a user gave and that can't be used.
func invalid(msg string) *Error { return &Error{Op: "nodegate", Code: InvalidInput, Msg: msg} }

// quoted shows a user's text in a message without letting it break the line.
func quoted(s string) string {
	const shown = 64
	if len(s) > shown {
		s = s[:shown] + "..."
	}
	return strconv.Quote(s)
}
