// Package config holds the configuration of the service: plain data, one table
// that declares every scalar setting, and a loader that puts defaults, a strict
// YAML file, the environment and the flags over each other, in that order.
//
// The help text, docs/config.md and the redacted dump all come from the table in
// table.go: to add a setting, add a field to Config and a row there. Problems
// are reported together, each with file, line and column where the value came
// from a file. The package imports nothing of ours, and Load changes nothing on
// disk: it opens files only to see that they can be read, and reads those that
// hold secrets.
package config

import (
	"time"

	"github.com/nodegate/nodegate/internal/method"
)

// Config is the effective configuration. The yaml names, the defaults and what
// each setting means stand in the table.
type Config struct {
	Data           string
	Listen         string
	StorageListen  string
	AdminListen    string
	DefaultNetwork string   // the only network's name where there is one; else "" when none is named
	DefaultPlan    string   // of new accounts; always one of Plans
	Pepper         Secret   // "" takes the file in the data folder
	TrustedProxies []string // CIDR ranges or single addresses
	ShutdownDelay  time.Duration
	TLS            TLS
	Admin          Admin
	Log            Log
	Tracing        Tracing
	Limits         Limits
	Tracers        Tracers
	Memory         Memory
	Store          Store
	Redis          Redis
	Payment        Payment
	Mail           Mail
	Alerts         Alerts
	Usage          Usage
	Accounts       Accounts
	Dashboard      Dashboard
	Storage        Storage
	Plans          map[string]Plan  // by name, the built-in ones too
	Costs          map[string]int64 // credits by method, and for other, unknown and refused
	Networks       []Network        // never empty after Load

	// src says where each value came from, for the comments in the dump. It is
	// nil in a Config that Load did not make.
	src   map[string]source
	file  string // that Load read, or ""
	empty bool   // the file has no content
}

// TLS is the certificate of a listener: both files or none.
type TLS struct {
	Cert, Key string
}

// Admin says who may use the admin listener.
type Admin struct {
	Hosts     []string // names that it is reached by, beside IP addresses and localhost
	Token     Secret   // for profiles and changes from other machines; "" is this machine only
	TokenFile string   // where Token was read from, or ""
}

// Log says what is logged and how.
type Log struct {
	Level    string // debug, info, warn, error
	Format   string // text, json
	Requests bool   // one line for each request
}

// Tracing says where traces of requests go.
type Tracing struct {
	URL               string // of the collector; "" traces nothing
	Authorization     Secret // the header of that name
	AuthorizationFile string // where Authorization was read from, or ""
	Sample            int    // of a hundred requests
	ClientTraces      int    // a second, that clients may ask for
}

// Limits bound what one request, connection or key may take.
type Limits struct {
	BodyBytes            Size
	BatchItems           int
	ResponseBytes        Size
	CallTimeout          Duration
	NodeTimeout          Duration
	HeavyPerAccount      int
	ConnsPerIP           int
	PagesPerSecond       int
	SubscriptionsPerConn int
	SocketsPerAccount    int
	SubsPerAccount       int
	CallsPerAccount      int
	BodyRate             Size
	Sockets              int
	Subscriptions        int
	LogBlocks            int
	LogResults           int
	FailedKeysPerIP      int // a second
}

// Tracers says what traces of embedded networks may run.
type Tracers struct {
	JavaScript bool // code of clients
}

// Memory limits the caches, for each network, the request log, and what requests
// hold while they are answered.
type Memory struct {
	Answers    Size
	State      Size
	RequestLog Size
	Ledgers    Size // of all networks that have none of their own
	Requests   Size
	PerAccount Size
}

// Store says where accounts, keys and usage are kept.
type Store struct {
	Postgres     Secret // a URL; "" is SQLite in the data folder
	PostgresFile string // where Postgres was read from, or ""
}

// Redis is where several servers share their limits.
type Redis struct {
	URL     Secret // "" keeps the limits in this process
	URLFile string // where URL was read from, or ""
}

// Payment says who verifies billing cards.
type Payment struct {
	Processor       string // test or stripe
	StripeKey       Secret
	StripeKeyFile   string // where StripeKey was read from, or ""
	StripePublicKey string
	StripeURL       string // another address of Stripe's API, or ""
}

// Mail says how mails are sent: links to sign in, and warnings about credits.
type Mail struct {
	SMTP     Secret // a URL; "" writes to the log instead
	SMTPFile string // where SMTP was read from, or ""
	From     string
	Check    Duration // how often the credits are looked at
}

// Alerts says how operators are notified of problems.
type Alerts struct {
	Webhook           Secret // a URL; "" is none
	WebhookFile       string // where Webhook was read from, or ""
	WebhookSecret     Secret // signs what is sent there
	WebhookSecretFile string // where WebhookSecret was read from, or ""
	Mail              string // an address; "" is none
	After             Duration
	ErrorRate         int // percent of calls; 0 is never
	Certificate       Duration
}

// Storage is the storage gateway and its block store.
type Storage struct {
	Engine   string // embedded, kubo or off
	TLS      TLS
	Hosts    []string // names and addresses, beyond this machine's own, that the local authority's certificate is for
	Undo     Duration
	Collect  Duration
	Reserve  Size
	MaxFile  Size
	MaxParts int
	Timeout  Duration

	MaxNodes    int  // blocks that one listing reads
	MaxRead     Size // content that one request reads
	MaxCompress Size // content that get compresses
	MaxRequests int  // of one account or address at once
	MaxHeavy    int  // of those, listings, archives, exports and pins

	Gateway      string   // off, keys or public
	GatewayRate  int      // requests a second of one address, when it is public
	GatewayHosts []string // hosts below which each CID has an origin of its own
	Kubo         Kubo
}

// Kubo is the engine of that name: nodes elsewhere that keep the blocks.
type Kubo struct {
	Copies    int
	Fetch     bool     // from the public network, what no node has
	Repair    Duration // how often the copies on the nodes are checked; 0 is never
	Endpoints []KuboEndpoint
}

// KuboEndpoint is the RPC API of one node.
type KuboEndpoint struct {
	URL         string
	HeadersFile string            // where Headers were read from, or ""
	Headers     map[string]Secret // sent with every request
	HideTrace   bool              // send it no traceparent
}

// Usage says how usage is recorded.
type Usage struct {
	Flush Duration // how often it is written
}

// Accounts says how the servers hear of changes.
type Accounts struct {
	Follow Duration // how often the change sequence is read
}

// Dashboard is the front end for people.
type Dashboard struct {
	On         bool
	SignUp     bool
	URL        string // "" is the address that the browser uses
	StorageURL string // "" is the browser's host with the listener's port

	Status      bool // serve the public status page
	VerifyEmail bool // accounts create keys only after their e-mail address was verified
}

// Network is one chain and how it is served.
type Network struct {
	Name          string
	Dialect       string
	Currency      string            // the symbol that wallets show; "" is ETH
	Explorer      string            // the URL of a block explorer, for wallets; "" is none
	Embedded      *Embedded         // nil on a network of remote nodes
	Nodes         []Node            // none on a network with an embedded chain
	ChainID       uint64            // what the nodes must have; 0 is learned from them
	MaxLag        uint64            // blocks that a node may be behind the others
	Poll          Duration          // between two looks at a node; 0 is automatic
	MaxHeadAge    Duration          // how long latest is known when no node reports it
	Retry         Retry             // of calls that nodes fail
	Hedge         Hedge             // of reads that take unusually long
	Verify        string            // what of the state is proven; "none" is proofs only
	Genesis       string            // a genesis file that names the chain's forks, to execute calls by; "" is none
	Verified      string            // the level that answers must have; "none" is any
	Agree         int               // nodes that must have given the hash of a block of the ledger
	Checkpoint    string            // a block that the ledger's chain must have, NUMBER:HASH; "" is none
	Ledger        Ledger            // the copy of its newest blocks
	Cache         Size              // memory for answers; 0 is no cache
	HistoryWindow map[string]uint64 // blocks served, by method
	Layer2        *Layer2           // nil on a layer-1 network
	Namespaces    []string          // beyond eth, net and web3
}

// The values of Verify.
const (
	VerifyNone      = "none"
	VerifyState     = "state"     // balances, nonces, code and storage are proven
	VerifyExecution = "execution" // and calls are executed over what is proven
)

// Retry bounds how a call that a node fails is sent to other nodes.
type Retry struct {
	Attempts int // nodes that get the call
	Budget   int // percent more requests
}

// Hedge says when a read is sent to a second node because the first takes long.
type Hedge struct {
	Off    bool
	Delay  Duration // 0 is automatic
	Budget int      // percent more requests
}

// Ledger is a verified copy of the newest blocks of a network of remote nodes.
type Ledger struct {
	Blocks       uint64   // 0 is none
	Backfill     int      // older blocks to fetch in a second; 0 is none
	MinBlockTime Duration // networks with less between two blocks have none
	Disk         Size
	Memory       Size // 0 shares Memory.Ledgers
	Usual        bool // no setting asks for one
}

// Node is one remote node of a network.
type Node struct {
	Name             string   // in logs, metrics and headers
	URL              NodeURL  // http or https
	URLFile          string   // where URL was read from, or ""
	WS               NodeURL  // ws or wss; "" is none
	WSFile           string   // where WS was read from, or ""
	Role             string   // primary or backup
	Tier             int      // 1 to 3; a backup is of 2
	Weight           int      // share of the calls among equally good nodes
	CreditsPerSecond int64    // what its provider lets us use; 0 is no limit
	CreditsPerDay    int64    // the same by UTC day
	CreditsPerMonth  int64    // and by UTC month
	MaxLogRange      uint64   // most blocks of one log query; 0 is learned
	CAFile           string   // authorities of its certificate; "" is the system's
	CertFile         string   // the client certificate that it gets, or ""
	KeyFile          string   // the key of that, or ""
	CA, Cert, Key    Secret   // what the three files hold
	Proxy            NodeURL  // http or https; "" is none
	ProxyFile        string   // where Proxy was read from, or ""
	Gzip             bool     // its responses may be compressed
	HideTrace        bool     // send it no traceparent
	Only, Not        []string // patterns of methods that it gets, and of those that it doesn't
	Headers          map[string]Secret
	HeaderFiles      map[string]string // where some of Headers were read from, by the header's name
}

// Embedded is a chain that runs inside this process.
type Embedded struct {
	Genesis string // a file; "" takes the built-in chain that Preset names
	Chain   string // a file of blocks to import at the first start, or ""
	Preset  string // devnet or rollup; "" when Genesis is given
	Period  uint64 // seconds between blocks; 0 mines when a transaction arrives
	MaxSize Size   // bytes on disk, beyond which it takes no transactions; 0 is no limit

	DailyPerAccount Size // bytes that the transactions of one account may add in a day; 0 is no limit
}

// Layer2 is the fee model of a rollup.
type Layer2 struct {
	Stack      string
	Alias      string // a second prefix for layer2_ methods, or ""
	Dictionary string // a file for the compressor, or ""
	Margin     float64
}

// Duration is the type of every time setting. It is the standard one, so that
// it can be handed on as it is.
type Duration = time.Duration

// Default is the configuration of a start with no file, environment or flags.
func Default() *Config {
	c := &Config{}
	settings.defaults(c, allSections)
	c.Plans, c.Costs = builtinPlans(), builtinCosts()
	c.Storage.GatewayHosts = []string{"localhost"}
	c.Networks = builtinNetworks()
	c.DefaultNetwork = c.Networks[0].Name
	return c
}

// builtinNetworks are the two development chains that a newcomer meets.
func builtinNetworks() []Network {
	devnet, rollup := Network{Name: "devnet"}, Network{Name: "rollup"}
	networkDefaults(&devnet)
	networkSettings.defaults(&devnet, "embedded.")
	networkDefaults(&rollup)
	networkSettings.defaults(&rollup, "embedded.")
	networkSettings.defaults(&rollup, "layer2.")
	devnet.Name, rollup.Name = "devnet", "rollup"
	rollup.Embedded.Preset = "rollup"
	rollup.HistoryWindow = map[string]uint64{}
	rollup.HistoryWindow[method.EthGetTransactionReceipt] = 128
	rollup.Layer2.Alias = "linea"
	devnet.Cache, rollup.Cache = devnet.defaultCache(), rollup.defaultCache()
	return []Network{devnet, rollup}
}

// networkDefaults sets what every network has, whatever sections it names.
func networkDefaults(n *Network) {
	for _, section := range []string{"", "retry.", "hedge.", "ledger."} {
		networkSettings.defaults(n, section)
	}
}

// embedded gives the table a place to write to before the section is known to exist.
func (n *Network) embedded() *Embedded {
	if n.Embedded == nil {
		n.Embedded = &Embedded{}
	}
	return n.Embedded
}

// layer2 does for the fee model what embedded does for the chain.
func (n *Network) layer2() *Layer2 {
	if n.Layer2 == nil {
		n.Layer2 = &Layer2{}
	}
	return n.Layer2
}

// shows tells whether a setting of the network is worth a line: not one of a
// section that is absent, and not one that only nodes have.
func (n *Network) shows(f field[Network]) bool {
	switch {
	case f.name == "chain_id":
		return n.ChainID != 0
	case f.remote:
		return len(n.Nodes) > 0
	}
	return n.has(sectionOf(f.name)) && f.at(n).String() != ""
}

// has tells whether an optional section of the network is present.
func (n *Network) has(section string) bool {
	switch section {
	case "embedded.":
		return n.Embedded != nil
	case "layer2.":
		return n.Layer2 != nil
	}
	return true
}
