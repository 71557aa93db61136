package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// devMethods are what development tools do to a chain: mine, set state, impersonate,
// snapshot, revert, move the clock. The layers above let them through only for keys with
// the scope development, or where the network's configuration turns them on.
type devMethods struct {
	engine  *engine
	node    *Node
	funded  []devchain.Account // development accounts that the genesis funds
	actions [method.Actions]action

	mu        sync.Mutex
	snapshots []snapshot // number n, from 1
}

// action is one thing to do. The row is the name that it was called by.
type action func(ctx context.Context, row *method.Row, params []json.RawMessage) ([]byte, error)

// snapshot is what a revert goes back to.
type snapshot struct {
	head  common.Hash
	clock Clock
}

const maxSnapshots = 1 << 16

func newDevMethods(n *Node, genesis *core.Genesis) *devMethods {
	d := &devMethods{engine: n.engine, node: n}
	for _, a := range devchain.Accounts() {
		if _, ok := genesis.Alloc[a.Address]; ok {
			d.funded = append(d.funded, a)
		}
	}
	clock, state := devClock{d}, devState{d}
	d.actions = [method.Actions]action{
		method.ActMine: d.mine, method.ActMineMany: d.mineMany,
		method.ActSnapshot: d.snapshot, method.ActRevert: d.revert, method.ActReset: d.reset,
		method.ActIncreaseTime: clock.increaseTime, method.ActSetTime: clock.setTime, method.ActSetNextTime: clock.setNextTime,
		method.ActSetAutomine: clock.setAutomine, method.ActGetAutomine: clock.getAutomine,
		method.ActSetInterval: clock.setInterval, method.ActSetIntervalSeconds: clock.setIntervalSeconds,
		method.ActSetBalance: state.setBalance, method.ActSetCode: state.setCode, method.ActSetNonce: state.setNonce, method.ActSetStorage: state.setStorage,
		method.ActSetNextBaseFee: clock.setNextBaseFee, method.ActSetCoinbase: clock.setCoinbase, method.ActSetRandom: clock.setRandom, method.ActSetGasLimit: clock.setGasLimit,
		method.ActImpersonate: state.impersonate, method.ActStopImpersonating: state.stopImpersonating, method.ActAutoImpersonate: state.autoImpersonate,
		method.ActSendTransaction: devSender{d}.sendTransaction, method.ActDrop: state.drop, method.ActDropAll: state.dropAll,
		method.ActMetadata: d.metadata, method.ActNodeInfo: d.nodeInfo,
	}
	return d
}

func (d *devMethods) producer() developer { return developer{d.engine.producer} }

// call answers what is a development method, and what such methods have changed about
// others.
func (d *devMethods) call(ctx context.Context, name string, params []byte) (result []byte, handled bool, err error) {
	row := method.Of(name)
	if act := d.actions[row.Action]; act != nil {
		list, err := splitParams(params, row.MaxParams())
		if err != nil {
			return nil, true, err
		}
		result, err = act(ctx, row, list)
		return result, true, err
	}
	switch name {
	case method.EthAccounts:
		result, err = devSender{d}.accounts()
		return result, true, err
	case method.EthPendingTransactions:
		result, err = devSender{d}.pendingTransactions(ctx)
		return result, true, err
	case method.EthGetTransactionByHash:
		result = devSender{d}.waitingAnswer(params)
	case method.Web3ClientVersion:
		if nodegate.GrantFrom(ctx).Develops() {
			result, err = json.Marshal(developmentClient())
		}
	}
	return result, result != nil, err
}

func splitParams(params []byte, most int) (list []json.RawMessage, err error) {
	if len(params) == 0 {
		return nil, nil
	}
	if json.Unmarshal(params, &list) != nil {
		return nil, &nodegate.Error{Op: "chain.evm", Code: nodegate.InvalidParams, Msg: "non-array args"}
	}
	if len(list) > most {
		return nil, &nodegate.Error{Op: "chain.evm", Code: nodegate.InvalidParams, Msg: fmt.Sprintf("too many arguments, want at most %d", most)}
	}
	return list, nil
}

// done is what a tool's method answers that has nothing to say.
func done(row *method.Row, err error) ([]byte, error) {
	if err != nil {
		return nil, changeError("", err)
	}
	if row.Namespace() == method.SpaceAnvil {
		return []byte("null"), nil
	}
	return []byte("true"), nil
}

func (d *devMethods) snapshot(context.Context, *method.Row, []json.RawMessage) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.snapshots) >= maxSnapshots {
		return nil, devError("too many snapshots: revert to one of them first")
	}
	d.snapshots = append(d.snapshots, snapshot{d.engine.eth.BlockChain().CurrentBlock().Hash(), d.producer().settings.Load().Clock})
	return json.Marshal(hexutil.Uint64(len(d.snapshots)))
}

// revert goes back to a snapshot and forgets it and all later ones, as Hardhat
// and Anvil do. An unknown id is false, not an error.
func (d *devMethods) revert(_ context.Context, _ *method.Row, params []json.RawMessage) ([]byte, error) {
	id, err := number(params, 0)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if id == 0 || id > uint64(len(d.snapshots)) {
		return []byte("false"), nil
	}
	to := d.snapshots[id-1]
	err = d.producer().rewind(to.head, func(s *settings) { s.Clock, s.Waiting = to.clock, nil })
	if err != nil {
		return nil, changeError("can't revert: ", err)
	}
	d.snapshots = d.snapshots[:id-1]
	return []byte("true"), nil
}

// reset goes back to the first start. A fork of another chain is refused: nothing here
// could answer for it.
func (d *devMethods) reset(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	var options struct{ Forking json.RawMessage }
	if len(params) > 0 {
		if err := param(params, 0, &options); err != nil {
			return nil, err
		}
	}
	if options.Forking != nil {
		return nil, badParam(0, "this chain can't fork another one: leave forking out")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.producer()
	first := d.engine.eth.BlockChain().GetCanonicalHash(p.first)
	err := p.rewind(first, func(s *settings) {
		*s = settings{}
		forging(p).useGasLimit(d.engine.eth.BlockChain().CurrentBlock().GasLimit)
	})
	if err != nil {
		return nil, changeError("can't reset: ", err)
	}
	d.snapshots = nil
	return done(row, nil)
}

// mine seals a block: now, at a given time, or several.
func (d *devMethods) mine(ctx context.Context, _ *method.Row, params []json.RawMessage) ([]byte, error) {
	var options struct{ Blocks, Timestamp *quantity }
	if len(params) > 0 && json.Unmarshal(params[0], &options) != nil {
		options.Timestamp = new(quantity)
		if err := param(params, 0, options.Timestamp); err != nil {
			return nil, err
		}
	}
	if at := options.Timestamp; at != nil && *at > 0 {
		if err := (devClock{d}).timeNext(uint64(*at)); err != nil {
			return nil, err
		}
	}
	count := uint64(1)
	if options.Blocks != nil {
		count = uint64(*options.Blocks)
	}
	if err := d.mineBlocks(ctx, count, 1); err != nil {
		return nil, err
	}
	return []byte(`"0x0"`), nil
}

// maxBlocks bounds how many blocks one call seals.
const maxBlocks = 10_000

func (d *devMethods) mineMany(ctx context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	count, apart := quantity(1), quantity(1)
	for i, value := range []*quantity{&count, &apart} {
		if i < len(params) && string(params[i]) != "null" {
			if err := param(params, i, value); err != nil {
				return nil, err
			}
		}
	}
	return done(row, d.mineBlocks(ctx, uint64(count), max(uint64(apart), 1)))
}

func (d *devMethods) mineBlocks(ctx context.Context, count, apart uint64) error {
	if count > maxBlocks {
		return badParam(0, fmt.Sprintf("at most %d blocks at once", maxBlocks))
	}
	if apart > maxJump {
		return badParam(1, "blocks are at most 100 years apart")
	}
	_ = ctx.Done() // from here on the connection is watched, and Err says whether the client has gone
	if err := d.producer().mine(count, apart, ctx.Err); err != nil {
		if ctx.Err() != nil {
			return nodegate.ErrTimeout("chain.evm", err)
		}
		return changeError("", err)
	}
	return nil
}

// quantity is a number, in hex or as JSON has it.
type quantity uint64

// UnmarshalJSON reads both forms.
func (q *quantity) UnmarshalJSON(text []byte) error {
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	n, err := strconv.ParseUint(string(text), 0, 64)
	if err != nil {
		return errors.New("want a number")
	}
	*q = quantity(n)
	return nil
}

// param reads one parameter.
func param(params []json.RawMessage, i int, into any) error {
	if i >= len(params) || string(params[i]) == "null" {
		return &nodegate.Error{Op: "chain.evm", Code: nodegate.InvalidParams, Msg: fmt.Sprintf("missing value for required argument %d", i)}
	}
	if err := json.Unmarshal(params[i], into); err != nil {
		return badParam(i, expected(into))
	}
	return nil
}

// expected says what a parameter should have been.
func expected(into any) string {
	switch into.(type) {
	case *common.Address:
		return "want an address: 0x and 40 hex digits"
	case *common.Hash:
		return "want 32 bytes: 0x and 64 hex digits"
	case *hexutil.Bytes:
		return "want bytes: 0x and an even number of hex digits"
	case *bool:
		return "want true or false"
	case *quantity, *wei:
		return "want a number"
	}
	return "want an object"
}

// number reads a parameter that is one.
func number(params []json.RawMessage, i int) (uint64, error) {
	var q quantity
	err := param(params, i, &q)
	return uint64(q), err
}

func badParam(i int, why string) error {
	return &nodegate.Error{Op: "chain.evm", Code: nodegate.InvalidParams, Msg: fmt.Sprintf("invalid argument %d: %s", i, why)}
}

// changeError keeps what is known about a disk that is full or failed.
func changeError(prefix string, err error) error {
	var known *nodegate.Error
	if errors.As(err, &known) {
		return known
	}
	return devError(prefix + err.Error())
}

func devError(msg string) error {
	return &nodegate.Error{Op: "chain.evm", Code: nodegate.ExecutionFailed, Msg: msg}
}
