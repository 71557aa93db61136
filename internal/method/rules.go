package method

// Rules say what the layers do with calls of a method.
type Rules struct {
	Kind        Kind
	Truth       Truth
	Needs       Needs
	Contracts   Contracts
	Development bool // changes an embedded chain
	Scoped      bool // only for keys with the scope development, on embedded networks
}

// Kind says how a method may be sent.
type Kind uint8

// The kinds.
const (
	// Read may be asked of any node that has the block, again after a failure, and of
	// two at once.
	Read Kind = iota
	// Send puts a transaction out: to several nodes, never as a second transaction.
	Send
	// Sticky belongs to what one node keeps for the caller: filters.
	Sticky
	// Other is asked once, of one node. It is the kind of methods without a row.
	Other
)

// Truth says how long an answer stays true.
type Truth uint8

// The truths.
const (
	Never       Truth = iota // depends on more than the chain, or is not known
	OfTheChain               // always the same: chain id, network id
	OfAHash                  // what a block hash names: the same while that block is on the chain
	OfABlock                 // what a block number names: the same until a reorganization
	OfItsAnswer              // the answer says its block: transactions and receipts
	OfARange                 // logs of a range of blocks
	OfTheHead                // changes with every block: gas price, fee history of latest
)

// Needs says what a node must have kept for old blocks.
type Needs uint8

// The needs.
const (
	Nothing Needs = iota
	History       // blocks, transactions, receipts, logs
	State         // accounts and storage as of the block
)

// Contracts says where the parameters of a method name the contracts that it reads or
// calls. Keys with an address list go by it.
type Contracts uint8

// Where contracts are named.
const (
	UnknownContracts Contracts = iota // a key with an address list is refused
	NoContracts                       // blocks, transactions, accounts and the like
	FirstAddress                      // the first parameter is an address
	AddressKeys                       // the members of the first parameter are named by addresses
	CallObject                        // the first parameter is a call; others may override state
	Simulation                        // eth_simulateV1
	LogFilter                         // the first parameter is a filter
	Subscription                      // eth_subscribe: logs have a filter
	RawTransaction                    // the first parameter is a signed transaction
)

// Work says what a call is to an embedded chain, and whether it can be stopped.
type Work uint8

// The kinds of work.
const (
	Quick       Work = iota
	LongRead         // may take long, and ends when its context does
	BulkRead         // takes long if it asks for many slots or blocks
	Submits          // takes long if the transaction is large
	Executes         // executes contracts, and ends when its context does
	Unstoppable      // executes contracts or proves state, too long to begin among the others
)

// Answer is the form of an answer, by which answers of remote nodes are checked and put
// into the form that Geth gives them.
type Answer uint8

// The forms. One that is checked, but left as it is, is a HexAnswer or an ObjectAnswer.
const (
	AnyAnswer            Answer = iota // not checked
	HexAnswer                          // data or a quantity: 0x...
	CountAnswer                        // how many transactions a block has
	UncleCountAnswer                   // how many uncles a block has
	UncleAnswer                        // an uncle of a block, by the block's number or hash
	ObjectAnswer                       // an object
	ChainIDAnswer                      // the network's id
	WordAnswer                         // 32 bytes of storage
	ReturnAnswer                       // the bytes that a call returned
	GasAnswer                          // a quantity
	ProofAnswer                        // an account with its proofs
	HeaderAnswer                       // a header, by the parameter that names its block
	BlockAnswer                        // a block, by the parameter that names it
	TransactionAnswer                  // a transaction, by its hash
	AtHashAnswer                       // a transaction of a block, by the block's hash
	AtNumberAnswer                     // a transaction of a block, by the block's number
	RawTransactionAnswer               // an encoded transaction, by its hash
	RawAtAnswer                        // an encoded transaction of a block, by the block's number or hash
	RawHeaderAnswer                    // an encoded header, by the parameter that names its block
	RawBlockAnswer                     // an encoded block, by the parameter that names it
	RawReceiptsAnswer                  // the encoded receipts of a block
	TransactionsAnswer                 // a list of transactions
	ReceiptAnswer                      // a receipt, by the transaction's hash
	ReceiptsAnswer                     // the receipts of a block
	LogsAnswer                         // a list of logs
)

// Part is what a method answers with of an account at a block. A Merkle proof of the account
// shows it.
type Part uint8

// The parts.
const (
	NoPart      Part = iota // more than a proof shows, or something else
	BalancePart             // a quantity
	NoncePart               // a quantity
	CodePart                // data; the proof shows its hash
	SlotPart                // one slot, 32 bytes
	SlotsPart               // slots of several accounts
)

func state(c Contracts) Rules { return Rules{Truth: OfABlock, Needs: State, Contracts: c} }
func history() Rules          { return Rules{Truth: OfABlock, Needs: History, Contracts: NoContracts} }
func byHash() Rules           { return Rules{Truth: OfAHash, Needs: History, Contracts: NoContracts} }
func byAnswer() Rules         { return Rules{Truth: OfItsAnswer, Needs: History, Contracts: NoContracts} }
func now() Rules              { return Rules{Truth: OfTheHead, Contracts: NoContracts} }
func constant() Rules         { return Rules{Truth: OfTheChain, Contracts: NoContracts} }
func asked() Rules            { return Rules{Contracts: NoContracts} }
func sticky(c Contracts) Rules {
	return Rules{Kind: Sticky, Contracts: c}
}

// once is a method that is asked of one node and not again after a failure.
func once(c Contracts) Rules { return Rules{Kind: Other, Contracts: c} }

// development changes an embedded chain.
func development() Rules { return Rules{Kind: Other, Development: true} }

// scoped is a development method that no setting of a network turns on.
func scoped(c Contracts) Rules {
	return Rules{Kind: Other, Development: true, Scoped: true, Contracts: c}
}
