package apidoc

// CommonFault is an error that any call can end with.
type CommonFault struct {
	HTTP          int // 200 once a request was let in
	Code          int
	Message, When string
}

// commonFaults are the errors that any call can end with, the authenticator's first.
var commonFaults = []CommonFault{
	{401, -32041, "API key required", "the request has no API key"},
	{401, -32041, "invalid API key", "the key is unknown or revoked, or the request has two different keys"},
	{401, -32041, "invalid API key or API key secret", "the key requires its secret, which is missing or wrong"},
	{403, -32043, "rejected by the API key's settings: …", "the key's settings don't allow the service, network, method, contract, origin or client; the message names which"},
	{404, -32001, "unknown network", "there is no network with this name"},
	{429, -32005, "rate limit exceeded", "the credits of this second are used up; Retry-After says when to try again"},
	{402, -32042, "daily credit limit reached", "today's credits are used up; they reset at 00:00 UTC"},
	{405, -32600, "method not allowed: use POST", "the HTTP method is neither POST nor OPTIONS"},
	{413, -32600, "request body too large: at most N bytes", "the body exceeds the limit"},
	{415, -32600, "invalid content type: …", "the body is not JSON"},
	{200, -32700, "parse error", "the body isn't JSON, is nested too deeply, or has bytes after the JSON"},
	{200, -32600, "invalid request", "the body is JSON but not a request, or a batch that is empty or too large"},
	{200, -32601, "the method NAME does not exist/is not available", "the method is unknown, or the network doesn't offer it"},
	{200, -32602, "missing value for required argument N", "a parameter has the wrong number, type or form; arguments are counted from 0"},
	{200, -32002, "request timed out", "the execution or the node took too long"},
	{200, -32045, "response too large", "the result, or the responses of a batch, exceed the limit"},
	{503, -32603, "no node available", "no node of the network responds"},
	{503, -32603, "server busy", "the service sheds load or shuts down; Retry-After says when to try again"},
	{500, -32603, "internal error (id …)", "an internal fault; the server's log has the cause under this ID"},
}
