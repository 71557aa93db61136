package apidoc

// CommonFault is an error that any call can end with.
type CommonFault struct {
	HTTP          int // 200 once a request was let in
	Code          int
	Message, When string
}

// commonFaults are the errors that any call can end with, the door's first.
var commonFaults = []CommonFault{
	{401, -32001, "API key required", "the address has no key"},
	{401, -32001, "invalid API key", "the key is unknown or revoked, or stands in two places and differs"},
	{401, -32001, "invalid API key or API key secret", "the key requires its secret, which is missing or wrong"},
	{403, -32002, "rejected by the API key's settings: …", "the key's settings don't allow the service, network, method, contract, origin or client; the message names which"},
	{404, -32001, "unknown network", "no network of that name"},
	{429, -32005, "rate limit exceeded", "the credits of this second are used up; Retry-After says when to try again"},
	{402, -32002, "daily credit limit reached", "the credits of the day are used up; they are reset at 00:00 UTC"},
	{405, -32600, "method not allowed: use POST", "neither POST nor OPTIONS"},
	{413, -32600, "request body too large: at most N bytes", "the body passes its limit"},
	{415, -32600, "invalid content type: …", "the body is not JSON"},
	{200, -32700, "parse error", "not JSON, too deep, or bytes after it"},
	{200, -32600, "invalid request", "JSON, but not a request; an empty batch or one too large"},
	{200, -32601, "the method NAME does not exist/is not available", "unknown, or not offered by this network"},
	{200, -32602, "missing value for required argument N", "a parameter has the wrong number, type or form; arguments are counted from 0"},
	{200, -32000, "request timed out", "the execution or the node took too long"},
	{200, -32003, "response too large", "the answers of a batch pass their limit"},
	{503, -32603, "no node available", "nothing behind the network answers"},
	{503, -32603, "server busy", "the service sheds load or shuts down; Retry-After says when to try again"},
	{500, -32603, "internal error (id …)", "our fault; the log has the cause under that id"},
}

// Errors that several methods share.
var (
	unknownBlock = Fault{-32000, "header not found: there is no such block"}
	reverted     = Fault{3, "execution reverted: REASON; data is what the contract returned"}
	outside      = Fault{-32002, "the block is older than the network's history window"}
	noFilter     = Fault{-32000, "filter not found: it was removed, or not used for five minutes"}
)

// differences is the table of dialects: where the service's specification and the
// Ethereum standard differ, a network's setting decides.
var differences = []Difference{
	{"yParity in the transaction", "absent", "absent", "types 1 to 4", []string{"eth_getTransactionByHash"}},
	{"r and s of the transaction", "quantities: leading zeros are dropped", "always 32 bytes", "quantities: leading zeros are dropped", []string{"eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex"}},
	{"chainId in the transaction", "types 1 to 4", "type 2 only", "all but unprotected ones of type 0", []string{"eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex"}},
	{"fields beyond the specification's tables (blockTimestamp, blobGasUsed, …)", "present", "absent", "present", []string{
		"eth_getTransactionByHash", "eth_getTransactionByBlockHashAndIndex", "eth_getTransactionReceipt", "eth_getBlockReceipts",
	}},
	{"no from", "the zero address", "-32602", "the zero address", []string{"eth_call"}},
	{"no to", "contract creation", "-32602", "contract creation", []string{"eth_estimateGas"}},
	{"no block parameter", "latest", "-32602", "latest", []string{"eth_getStorageAt", "eth_getProof", "eth_call", "eth_estimateGas"}},
	{"the tag safe", "-32602, says to use finalized", "-32602, says to use finalized", "accepted", []string{"eth_estimateGas", "layer2_estimateGas"}},
	{"gas above ten times the block gas limit", "-32602, names the cap", "-32602, names the cap", "cut to the cap", []string{"eth_call", "eth_estimateGas", "layer2_estimateGas"}},
	{"input and data both given and different", "-32602", "-32602", "input wins", []string{"eth_call", "eth_estimateGas", "layer2_estimateGas"}},
}
