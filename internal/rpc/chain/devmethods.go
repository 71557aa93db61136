package chain

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// devMethods are the evm_ methods that development tools know: snapshot, revert,
// mine and time. The layer above lets them through only where the network's
// configuration turns the namespace on.
type devMethods struct {
	engine *engine

	mu        sync.Mutex
	snapshots []common.Hash // snapshot n (from 1) is the head it was taken at
}

// maxJump keeps the sum of a timestamp and a jump far from overflow.
const maxJump = 100 * 365 * 24 * 3600

func (d *devMethods) method(name string) func([]byte) ([]byte, error) {
	switch name {
	case method.EVMMine:
		return d.mine
	case method.EVMSnapshot:
		return d.snapshot
	case method.EVMRevert:
		return d.revert
	case method.EVMIncreaseTime:
		return d.increaseTime
	}
	return nil
}

func (d *devMethods) mine([]byte) ([]byte, error) {
	if _, err := d.engine.producer.seal(); err != nil {
		return nil, changeError("", err)
	}
	return []byte(`"0x0"`), nil
}

func (d *devMethods) snapshot([]byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.snapshots = append(d.snapshots, d.engine.eth.BlockChain().CurrentBlock().Hash())
	return json.Marshal(hexutil.Uint64(len(d.snapshots)))
}

// revert goes back to a snapshot and forgets it and all later ones, as Hardhat
// and Anvil do. An unknown id is false, not an error.
func (d *devMethods) revert(params []byte) ([]byte, error) {
	id, err := oneNumber(params)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if id == 0 || id > uint64(len(d.snapshots)) {
		return []byte("false"), nil
	}
	if err := d.engine.producer.rewind(d.snapshots[id-1]); err != nil {
		return nil, changeError("can't revert: ", err)
	}
	d.snapshots = d.snapshots[:id-1]
	return []byte("true"), nil
}

// increaseTime moves the chain's clock forward by sealing an empty block that
// many seconds after the newest one; later blocks go on from there.
func (d *devMethods) increaseTime(params []byte) ([]byte, error) {
	seconds, err := oneNumber(params)
	if err != nil {
		return nil, err
	}
	if seconds == 0 || seconds > maxJump {
		return nil, devError("time moves forward by 1 second to 100 years")
	}
	if _, err := d.engine.producer.jump(seconds); err != nil {
		return nil, changeError("", err)
	}
	return strconv.AppendUint(nil, seconds, 10), nil
}

// oneNumber reads a single parameter, a hex quantity or a JSON integer.
func oneNumber(params []byte) (uint64, error) {
	var list []json.RawMessage
	if json.Unmarshal(params, &list) != nil || len(list) != 1 {
		return 0, &nodegate.Error{Op: "chain.evm", Code: nodegate.InvalidParams, Msg: "missing value for required argument 0"}
	}
	text := strings.Trim(string(list[0]), `"`)
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, &nodegate.Error{Op: "chain.evm", Code: nodegate.InvalidParams, Msg: "invalid argument 0: want a number", Err: err}
	}
	return n, nil
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
