package apidoc

// CommonFault is an error that any call can end with.
type CommonFault struct {
	HTTP          int // 200 once a request was let in
	Code          int
	Message, When string
}

// commonFaults are the errors that any call can end with, the authenticator's first.
var commonFaults = []CommonFault{
	{401, -32041, "API key required", "the address has no key"},
	{401, -32041, "invalid API key", "the key is unknown or revoked, or stands in two places and differs"},
	{401, -32041, "invalid API key or API key secret", "the key requires its secret, which is missing or wrong"},
	{403, -32043, "rejected by the API key's settings: …", "the key's settings don't allow the service, network, method, contract, origin or client; the message names which"},
	{404, -32001, "unknown network", "no network of that name"},
	{429, -32005, "rate limit exceeded", "the credits of this second are used up; Retry-After says when to try again"},
	{402, -32042, "daily credit limit reached", "the credits of the day are used up; they are reset at 00:00 UTC"},
	{405, -32600, "method not allowed: use POST", "neither POST nor OPTIONS"},
	{413, -32600, "request body too large: at most N bytes", "the body passes its limit"},
	{415, -32600, "invalid content type: …", "the body is not JSON"},
	{200, -32700, "parse error", "not JSON, too deep, or bytes after it"},
	{200, -32600, "invalid request", "JSON, but not a request; an empty batch or one too large"},
	{200, -32601, "the method NAME does not exist/is not available", "unknown, or not offered by this network"},
	{200, -32602, "missing value for required argument N", "a parameter has the wrong number, type or form; arguments are counted from 0"},
	{200, -32002, "request timed out", "the execution or the node took too long"},
	{200, -32045, "response too large", "the answers of a batch pass their limit"},
	{503, -32603, "no node available", "nothing behind the network answers"},
	{503, -32603, "server busy", "the service sheds load or shuts down; Retry-After says when to try again"},
	{500, -32603, "internal error (id …)", "our fault; the log has the cause under that id"},
}
