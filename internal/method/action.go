package method

// Action is what a development method does to an embedded chain. Tools have several names
// for one action.
type Action uint8

// The actions.
const (
	NoAction Action = iota
	ActMine
	ActMineMany
	ActSnapshot
	ActRevert
	ActReset
	ActIncreaseTime
	ActSetTime
	ActSetNextTime
	ActSetAutomine
	ActGetAutomine
	ActSetInterval        // in milliseconds
	ActSetIntervalSeconds // the same in seconds
	ActSetBalance
	ActSetCode
	ActSetNonce
	ActSetStorage
	ActSetNextBaseFee
	ActSetCoinbase
	ActSetRandom
	ActSetGasLimit
	ActImpersonate
	ActStopImpersonating
	ActAutoImpersonate
	ActSendTransaction
	ActDrop
	ActDropAll
	ActMetadata
	ActNodeInfo
	Actions // how many there are
)
