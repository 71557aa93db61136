package eth

// poolWords are about transactions that can't be taken, whoever says so.
var poolWords = []wording{
	{"knowntransaction", "already known"}, {"alreadyknown", "already known"}, {"alreadyimported", "already known"},
	{"replacementtransactionunderpriced", "replacement transaction underpriced"},
	{"insufficientgaspricetoreplace", "replacement transaction underpriced"}, {"replacementnotallowed", "replacement transaction underpriced"},
	{"noncetoolow", "nonce too low"}, {"oldnonce", "nonce too low"}, {"noncetoohigh", "nonce too high"},
	{"callgascostmorethangaslimit", "intrinsic gas too low"}, {"gasfloormorethangaslimit", "intrinsic gas too low"},
	{"intrinsicgasexceedsgaslimit", "intrinsic gas too low"}, {"intrinsicgastoolow", "intrinsic gas too low"},
	{"upfrontcostexceeds", "insufficient funds for gas * price + value"}, {"lackoffundformaxfee", "insufficient funds for gas * price + value"},
	{"insufficientfundsforgas", "insufficient funds for gas * price + value"}, {"insufficientfundsfortransfer", "insufficient funds for transfer"},
	{"insufficientsenderbalance", "insufficient funds for transfer"},
	{"exceedsblockgaslimit", "exceeds block gas limit"}, {"callergaslimitmorethanblock", "exceeds block gas limit"},
	{"belowcurrentbasefee", "max fee per gas less than block base fee"}, {"feepergaslessthanblockbasefee", "max fee per gas less than block base fee"},
	{"priorityfeepergasexceedsmaxfeepergas", "max priority fee per gas higher than max fee per gas"},
	{"priorityfeepergashigherthanmaxfeepergas", "max priority fee per gas higher than max fee per gas"},
}

// vmWords are about executions that failed otherwise than by a revert: as Geth says
// it, and as revm (Reth, anvil), Besu, Nethermind and Parity do.
var vmWords = []wording{
	{"cannotestimategas", "gas required exceeds allowance"},
	{"codestorageoutofgas", "contract creation code storage out of gas"},
	{"outofgas", outOfGas}, {"memoryoog", outOfGas}, {"memorylimitoog", outOfGas}, {"precompileoog", outOfGas},
	{"invalidoperandoog", outOfGas}, {"outofmemorymemorylimit", outOfGas},
	{"invalidfeopcode", "invalid opcode: INVALID"},
	{"opcodenotfound", "invalid opcode"}, {"badinstruction", "invalid opcode"}, {"notactivated", "invalid opcode"}, {"invalidopcode", "invalid opcode"},
	{"stackunderflow", "stack underflow"}, {"stackoverflow", "stack limit reached"}, {"outofstack", "stack limit reached"},
	{"invalidjump", "invalid jump destination"}, {"badjumpdestination", "invalid jump destination"},
	{"statechangeduringstaticcall", "write protection"}, {"callnotallowedinsidestatic", "write protection"},
	{"staticcallviolation", "write protection"}, {"illegalstatechange", "write protection"}, {"mutablecallinstaticcontext", "write protection"},
	{"outofoffset", "return data out of bounds"}, {"accessviolation", "return data out of bounds"}, {"outofbounds", "return data out of bounds"},
	{"createinitcodesizelimit", "max initcode size exceeded"}, {"maxinitcodesizeexceeded", "max initcode size exceeded"},
	{"createcontractsizelimit", "max code size exceeded"}, {"codetoolarge", "max code size exceeded"},
	{"codeistoolarge", "max code size exceeded"}, {"codeisinvalid", "invalid code: must not begin with 0xef"},
	{"createcontractstartingwithef", "invalid code: must not begin with 0xef"}, {"invalidcode", "invalid code: must not begin with 0xef"},
	{"createcollision", "contract address collision"}, {"transactioncollision", "contract address collision"},
	{"outoffunds", "insufficient balance for transfer"}, {"notenoughbalance", "insufficient balance for transfer"},
	{"calltoodeep", "max call depth exceeded"},
}
