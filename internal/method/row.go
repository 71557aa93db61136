package method

// Row is what is known about one method.
type Row struct {
	Name   string
	Params []Param
	Rules

	Answer Answer
	Part   Part
	Work   Work
	Action Action

	// Credits is the built-in price of a call; 0 takes the price that Price names.
	Credits int64
	// Counted methods have their own label in metrics and usage.
	Counted bool
	// Window tells whether a network can serve only the latest blocks of it.
	Window bool
	// FillLatest tells whether the service writes latest where the block is left out.
	// For other methods that is the node's to decide.
	FillLatest bool
	// NeverNull methods have an answer on every chain: a null is a fault of the node.
	NeverNull bool
	// EveryBlock methods have an answer for every block of the chain: a null means that
	// the node lacks the block.
	EveryBlock bool
	// SlowEmbedded methods take an embedded chain a hundred times as long as a cache hit,
	// so that a cache before it pays.
	SlowEmbedded bool
	NoBlobs      bool // an embedded chain refuses blobs, whose proofs it would compute
	// CountsSent methods answer, at pending, with what a sender has sent so far.
	CountsSent bool
	// NewFilter methods create a filter on a node, and EndsFilter removes one.
	NewFilter, EndsFilter bool
	// Finds is what a new filter looks for, and what eth_getFilterLogs answers with.
	Finds Found
	// Remote methods are those that embedded chains lack.
	Remote bool

	// Group is the heading that the method is documented under.
	Group   string
	Summary string // one sentence
	About   string // what else is worth knowing, or ""
	Result  Result
	Errors  []Fault // beyond those of every method; each code once
	Socket  bool    // on WebSockets only
	Example Example
	Try     Try
	// Differences are what depends on the network's dialect.
	Differences []*Difference

	// Block is the position of the block parameter; None where there is none. It and
	// BlockObject follow from the parameters.
	Block int
	// BlockObject tells whether the block may be an object after EIP-1898.
	BlockObject bool
}

// None is the Block of a method without a block parameter.
const None = -1

// Param is one parameter; they are given by position.
type Param struct {
	Name     string
	Type     string // a type of the API reference, see apidoc.Schema
	Required bool   // in the dialect spec
	What     string
}

// Result is what a method answers.
type Result struct {
	Type string // as of a Param
	What string
}

// Fault is an error that a method ends with.
type Fault struct {
	Code int
	When string
}

// Example is a call that works on a new built-in network with the namespaces on.
type Example struct {
	Network string // "" where no built-in network has the method
	Params  string // a JSON array
	After   string // the method whose answer is the first parameter, or ""
	Varies  bool   // the answer differs each time
}

// Try is how the dashboard offers the method on a live network: the place in its list,
// from 1, and parameters in which $address, $contract, $transaction, $block, $index and
// $call stand for what was found on the chain.
type Try struct {
	Order  int
	Params string
}

// Difference is one line of the table of dialects.
type Difference struct {
	What                   string
	Spec, Strict, Standard string
}

// MaxParams is how many parameters the method takes at most.
func (r *Row) MaxParams() int { return len(r.Params) }

// LooksUp tells whether a call is one lookup and changes nothing, also where it is asked of
// one node only once.
func (r *Row) LooksUp() bool {
	switch r.Answer {
	case RawTransactionAnswer, RawHeaderAnswer, RawBlockAnswer, RawReceiptsAnswer:
		return true
	}
	return r.Kind == Read
}

// RunsCode tells whether a node may run code for a call that the caller chooses, so that the
// text of an error may be what that code says. Of a method without a row nobody knows.
func (r *Row) RunsCode() bool {
	switch {
	case r.Name == "":
		return true
	case r.Answer == ProofAnswer:
		return false
	case r.Contracts == CallObject || r.Contracts == Simulation || r.Contracts == RawTransaction:
		return true
	}
	return r.Work == Executes || r.Work == Unstoppable
}

// ShowsHeader tells whether an answer has the header of a block, whose hash can be checked.
func (r *Row) ShowsHeader() bool { return r.Answer == BlockAnswer || r.Answer == HeaderAnswer }

// OtherLabel is the label of methods that share one: clients can't make labels.
const OtherLabel = "other"

// NodeLabel is the method in the metrics of remote nodes. They tell all methods apart
// that several nodes may be asked.
func (r *Row) NodeLabel() string {
	if r.Kind == Other {
		return OtherLabel
	}
	return r.Name
}

// The settings below costs that are not those of one method.
const (
	PriceOther   = "other"   // every other method that is counted
	PriceUnknown = "unknown" // a method that is not counted
	PriceRefused = "refused" // a request that is refused
)

// Price is the setting below costs that a call is charged by.
func (r *Row) Price() string {
	switch {
	case r.Credits > 0:
		return r.Name
	case r.Counted:
		return PriceOther
	}
	return PriceUnknown
}

// blockTypes are the types of block parameters, and whether an object is one.
var blockTypes = map[string]bool{
	"BlockNumber": false, "BlockOrOverrides": false, "Block": true, "BlockNotSafe": true, "BlockOrDecimal": true,
}

// findBlock fills in what follows from the parameters. What is asked of one node and not
// again is passed on as it is, block and all.
func (r *Row) findBlock() {
	r.Block = None
	if r.Kind != Read {
		return
	}
	for i, p := range r.Params {
		if object, ok := blockTypes[p.Type]; ok {
			r.Block, r.BlockObject = i, object
			return
		}
	}
}

// Found is what a filter looks for.
type Found uint8

const (
	FindsNothing Found = iota // not a method that is about one kind of filter
	FindsLogs
	FindsBlocks
	FindsPending
)
