package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/logrange"
)

// caller is either connection to a node.
type caller interface {
	Call(ctx context.Context, method string, params []byte) ([]byte, error)
	Close()
}

// exam is the asking of one node.
type exam struct {
	ctx     context.Context
	network *Network
	node    *Node
	caller  caller
	report  Report
}

const (
	zeroAddress = `"0x0000000000000000000000000000000000000000"`
	zeroHash    = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
)

func examine(ctx context.Context, n *Network, node *Node) Report {
	x := &exam{ctx: ctx, network: n, node: node, report: Report{Node: node.Name, Backup: node.Backup, LogsSet: node.MaxLogRange}}
	if x.report.Err = x.connect(); x.report.Err != nil {
		return x.report
	}
	defer x.caller.Close()
	if x.report.Err = x.identity(); x.report.Err != nil {
		return x.report
	}
	x.methods()
	x.state()
	x.logs()
	x.latency()
	if n.Ledger.Cost != nil {
		x.sample()
	}
	if node.URL != "" {
		x.report.Batch = takesBatch(ctx, node)
	}
	if node.WS != "" {
		x.report.Events = x.events()
	}
	return x.report
}

// connect prefers HTTP; a node that has a WebSocket only is asked there.
func (x *exam) connect() (err error) {
	if x.node.URL != "" {
		x.caller, err = client.NewClient(x.node.over(x.node.URL))
		return err
	}
	ctx, cancel := context.WithTimeout(x.ctx, callTime)
	defer cancel()
	x.caller, err = client.DialSocket(ctx, x.node.over(x.node.WS))
	return err
}

func (x *exam) call(name, params string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(x.ctx, callTime)
	defer cancel()
	return x.caller.Call(ctx, name, []byte(params))
}

// identity asks who the node is. One that can't say its chain and head is no use.
func (x *exam) identity() (err error) {
	r := &x.report
	if r.ChainID, err = x.number(method.EthChainID); err != nil {
		return fmt.Errorf("%s: %w", method.EthChainID, err)
	}
	if r.Head, err = x.number(method.EthBlockNumber); err != nil {
		return fmt.Errorf("%s: %w", method.EthBlockNumber, err)
	}
	if name, err := x.call(method.Web3ClientVersion, "[]"); err == nil {
		r.Client = text(name)
	}
	if syncing, err := x.call(method.EthSyncing, "[]"); err == nil {
		r.Syncing = string(syncing) != "false"
	}
	if block, err := x.call(method.EthGetBlockByNumber, `["0x0",false]`); err == nil {
		r.Genesis = member(block, "hash")
	}
	return nil
}

func (x *exam) number(name string) (uint64, error) {
	result, err := x.call(name, "[]")
	if err != nil {
		return 0, err
	}
	digits, ok := strings.CutPrefix(text(result), "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return 0, errors.New("the answer is not a number in hex")
	}
	return n, nil
}

// text is a JSON string without what a terminal may act upon; others are "".
func text(value []byte) string {
	s, ok := jsonrpc.String(value)
	if !ok {
		return ""
	}
	const shown = 100
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, string(s))
	return clean[:min(len(clean), shown)]
}

// question is a method with parameters that are good and cheap to answer.
type question struct{ method, params string }

// questions are about methods that not every node has.
func (x *exam) questions() []question {
	list := []question{
		{method.EthGetBlockReceipts, `["latest"]`},
		{method.EthGetProof, "[" + zeroAddress + `,[],"latest"]`},
		{method.EthFeeHistory, `["0x1","latest",[]]`},
		{method.DebugTraceTransaction, "[" + zeroHash + "]"},
	}
	switch x.network.Stack {
	case "linea":
		list = append(list, question{method.LineaEstimateGas, `[{"from":` + zeroAddress + `,"to":` + zeroAddress + `}]`})
	case "zksync":
		list = append(list, question{method.ZksEstimateFee, `[{"from":` + zeroAddress + `,"to":` + zeroAddress + `}]`})
	}
	if slices.Contains(x.network.Namespaces, method.SpaceTxpool) {
		list = append(list, question{method.TxpoolStatus, "[]"})
	}
	if slices.Contains(x.network.Namespaces, method.SpaceTrace) {
		list = append(list, question{method.TraceBlock, `["latest"]`})
	}
	return list
}

func (x *exam) methods() {
	for _, q := range x.questions() {
		if _, err := x.call(q.method, q.params); unoffered(err) {
			x.report.Missing = append(x.report.Missing, q.method)
		}
	}
}

// unoffered tells whether an error says that there is no such method. Any other error
// is the method's own: it is there.
func unoffered(err error) bool {
	var refused *client.CallError
	if !errors.As(err, &refused) {
		return err != nil // not even an answer
	}
	message := strings.ToLower(refused.Message)
	return refused.Code == -32601 || strings.Contains(message, "method") &&
		(strings.Contains(message, "not found") || strings.Contains(message, "not exist") || strings.Contains(message, "not available") || strings.Contains(message, "not supported") || strings.Contains(message, "not enabled"))
}

// depths are where state is looked for, from the newest back.
var depths = []uint64{1, 127, 1_000, 10_000, 100_000}

// state asks for a balance further and further back.
func (x *exam) state() {
	for _, back := range depths {
		if back >= x.report.Head || !x.hasState(x.report.Head-back) {
			break
		}
		x.report.State.Blocks = back
	}
	x.report.State.All = x.hasState(min(1, x.report.Head))
}

func (x *exam) hasState(block uint64) bool {
	_, err := x.call(method.EthGetBalance, fmt.Sprintf(`[%s,"0x%x"]`, zeroAddress, block))
	return err == nil
}

// ranges are the widths of eth_getLogs that are tried, the widest first.
var ranges = []uint64{100_000, 10_000, 1_000, 100, 1}

// logs finds out how wide a log query may be. A node that states its limit is believed if it keeps to it.
func (x *exam) logs() {
	for _, width := range ranges {
		width = min(width, x.report.Head+1)
		err := x.queryLogs(width)
		if stated := statedRange(err); 0 < stated && stated < width && x.queryLogs(stated) == nil {
			x.report.Logs = stated
			return
		}
		if err == nil {
			x.report.Logs = width
			return
		}
	}
}

// queryLogs looks for events that nobody emits, so that only the range counts.
func (x *exam) queryLogs(width uint64) error {
	_, err := x.call(method.EthGetLogs, fmt.Sprintf(`[{"fromBlock":"0x%x","toBlock":"0x%x","address":%s,"topics":[%s]}]`,
		x.report.Head+1-width, x.report.Head, zeroAddress, zeroHash))
	return err
}

// statedRange is how many blocks a node says it allows in a log query, or 0.
func statedRange(err error) uint64 {
	var refused *client.CallError
	if !errors.As(err, &refused) {
		return 0
	}
	return logrange.Classify(refused.Message).Blocks
}

// samples is how often a small call is timed.
const samples = 20

func (x *exam) latency() {
	var times []time.Duration
	for range samples {
		start := time.Now()
		if _, err := x.call(method.EthChainID, "[]"); err == nil {
			times = append(times, time.Since(start))
		}
	}
	if len(times) > 0 {
		slices.Sort(times)
		x.report.P50 = times[len(times)/2]
	}
}

// events opens a subscription and closes it again.
func (x *exam) events() error {
	ctx, cancel := context.WithTimeout(x.ctx, callTime)
	defer cancel()
	socket, err := client.DialSocket(ctx, x.node.over(x.node.WS))
	if err != nil {
		return err
	}
	defer socket.Close()
	_, err = socket.Subscribe(ctx, []byte(`["newHeads"]`))
	return err
}
