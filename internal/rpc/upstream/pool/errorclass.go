package pool

// Numbers of errors that mean one thing on every node.
const (
	numberReverted       = 3
	numberInvalidParams  = -32602
	numberMethodMissing  = -32601
	numberMethodDisabled = -32604 // Besu
	numberPruned         = 4444   // EIP-4444, Geth and Besu
)

// callers tells whether an error is the caller's own business: every node would give it.
// Whatever isn't known to be that is the node's: another node is asked, and an error that
// all of them give is returned all the same.
func callers(r *nodeError) bool {
	if r.Code == numberReverted || r.Code == numberInvalidParams || r.query.hasProgram() {
		return true
	}
	for _, words := range [][]string{reasonWords, callerWords, staleWords, knownWords, minedWords} {
		if contains(r.text, words) {
			return true
		}
	}
	return false
}

var methodWord = []string{"method"}

var noMethodWords = []string{
	"not found", "not available", "does not exist", "not supported", "unsupported", "not whitelisted", "not allowed", "disabled", "not enabled", "current plan",
}

// reasonWords are in every error whose text goes on with what a contract says, in lower case:
// Geth and most others say "execution reverted: reason", Hardhat and Ganache "VM Exception while
// processing transaction: reverted with reason string 'reason'", Nethermind and Parity "VM
// execution error." zkSync's accounts and paymasters are contracts.
var reasonWords = []string{
	"revert", "vm exception", "vm execution error", "evm error", "transaction execution error", "cannot estimate gas", "cannot estimate transaction",
	"account validation", "paymaster validation",
}

// callerWords are what nodes say about the call itself, in lower case, by subject. The
// sources are the clients' own error texts: Geth core/vm/errors.go and contracts.go, core/error.go,
// core/txpool/errors.go and rpc/errors.go; Reth crates/rpc/rpc-eth-types/src/error; Besu
// RpcErrorType.java; Nethermind AcceptTxResult.cs and EvmExceptionType.cs; Erigon as Geth;
// Arbitrum and the OP stack as Geth, beside their own rules for fees.
var callerWords = []string{
	// execution
	"out of gas", "outofgas", "invalid opcode", "bad instruction", "stack underflow", "stack overflow",
	"stack limit", "invalid jump", "bad jump", "write protection", "static call", "call depth", "initcode", "code size", "return data out of bounds",
	"gas required exceeds", "always failing transaction", "address collision", "invalid code",
	// precompiled contracts
	"precompile", "bn256", "elliptic curve", "on curve", "subgroup", "field element", "invalid input length", "invalid final flag", "exponent/modulus", "kzg", "point size", "versioned hash",
	// funds, nonces, fees
	"insufficient funds", "insufficient balance", "insufficient sender balance", "up-front cost", "upfront cost", "lack of funds",
	"nonce", "already known", "known transaction", "already imported", "already in mempool", "already exists", "replacement", "underpriced",
	"fee cap", "feecap", "max fee", "maxfee", "priority fee", "base fee", "basefee", "gas price", "gasprice", "intrinsic gas", "gas limit", "gas too low",
	"gas uint64 overflow", "tx fee", "transaction type", "tx type", "rlp:", "invalid sender", "invalid signature", "invalid chain id", "invalid chainid", "wrong chain id", "chain id mismatch", "chainid mismatch",
	"replay-protected", "oversized", "blob",
	// parameters
	"invalid argument", "invalid param", "missing value", "required argument", "too many arguments", "cannot unmarshal", "hex string", "invalid address",
	"invalid block range", "invalid block number", "tracer", "ens name",
	// size of the request
	"entity too large", "content length too large", "request too large", "exceed max topics", "exceed max addresses", "too many topics", "too many addresses",
	// what doesn't exist
	"filter not found", "transaction not found", "receipt not found", "unknown transaction", "no transaction", "genesis is not traceable",
}
