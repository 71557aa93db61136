package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/forge"
)

// devSender sends for accounts whose keys everybody knows, or nobody has.
type devSender struct{ *devMethods }

// accounts are those that eth_sendTransaction sends from: the development accounts that
// the genesis funds, whose keys everybody knows, and the impersonated ones.
func (d devSender) accounts() ([]byte, error) {
	list := []common.Address{}
	for _, a := range d.funded {
		list = append(list, a.Address)
	}
	for _, a := range d.producer().settings.Load().Impersonated {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return json.Marshal(list)
}

// sendTransaction fills in what is missing, and signs for a development account or sends
// for an impersonated one.
func (d devSender) sendTransaction(ctx context.Context, _ *method.Row, params []json.RawMessage) ([]byte, error) {
	var from struct{ From *common.Address }
	if err := param(params, 0, &from); err != nil {
		return nil, err
	}
	if from.From == nil {
		return nil, badParam(0, "from is missing: name the account that sends")
	}
	sender := *from.From
	own := slices.IndexFunc(d.funded, func(a devchain.Account) bool { return a.Address == sender })
	if !d.impersonates(sender) && own < 0 {
		return nil, devError(fmt.Sprintf("unknown account %s: impersonate it first, or sign the transaction yourself and send it with %s", sender, method.EthSendRawTransaction))
	}
	tx, err := d.filled(ctx, sender, params[0])
	if err != nil {
		return nil, err
	}
	if d.impersonates(sender) {
		return d.sendUnsigned(tx, sender)
	}
	signed, err := types.SignTx(tx, types.LatestSigner(d.engine.eth.BlockChain().Config()), d.funded[own].PrivateKey)
	if err != nil {
		return nil, devError(err.Error())
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return d.node.send(ctx, []byte(`["`+hexutil.Encode(raw)+`"]`))
}

func (d devSender) impersonates(a common.Address) bool {
	s := d.producer().settings.Load()
	return s.Everybody || slices.Contains(s.Impersonated, a)
}

// filled is the transaction with nonce, gas and fees, as go-ethereum fills them in.
func (d devSender) filled(ctx context.Context, from common.Address, arg json.RawMessage) (*types.Transaction, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arg, &members); err != nil {
		return nil, badParam(0, "want an object")
	}
	if _, given := members["nonce"]; !given {
		nonce, err := d.nextNonce(from)
		if err != nil {
			return nil, err
		}
		members["nonce"], _ = json.Marshal(hexutil.Uint64(nonce)) // a number always marshals
	}
	params, err := json.Marshal([]any{members})
	if err != nil {
		return nil, err
	}
	result, err := d.node.ask(ctx, method.EthFillTransaction, params)
	if err != nil {
		return nil, err
	}
	var answer struct{ Raw hexutil.Bytes }
	tx := new(types.Transaction)
	if err := errors.Join(json.Unmarshal(result, &answer), tx.UnmarshalBinary(answer.Raw)); err != nil {
		return nil, internal("go-ethereum filled in a transaction that can't be read", err)
	}
	return tx, nil
}

// nextNonce counts what the pool and the impersonated transactions of a sender use up.
func (d devSender) nextNonce(from common.Address) (uint64, error) {
	nonce := d.engine.eth.TxPool().PoolNonce(from)
	state, err := d.engine.eth.BlockChain().State()
	if err != nil {
		return 0, err
	}
	nonce = max(nonce, state.GetNonce(from))
	for _, w := range d.producer().settings.Load().Waiting {
		if tx := w.tx(); w.From == from && tx != nil && tx.Nonce() >= nonce {
			nonce = tx.Nonce() + 1
		}
	}
	return nonce, nil
}

// sendUnsigned sends for an impersonated account: into a block at once, or among those that
// wait for one.
func (d devSender) sendUnsigned(tx *types.Transaction, from common.Address) ([]byte, error) {
	p := d.producer()
	signed, err := forgedSignature(tx, from, types.LatestSigner(d.engine.eth.BlockChain().Config()))
	if err != nil {
		return nil, devError(err.Error())
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return nil, err
	}
	if err := p.enqueue(wait(from, raw)); err != nil {
		return nil, changeError("", err)
	}
	if p.automines() {
		if err := p.mineWaiting(signed.Hash()); err != nil {
			return nil, changeError("", err)
		}
	}
	return json.Marshal(signed.Hash())
}

// enqueue adds a transaction of an impersonated sender to those that wait.
func (p developer) enqueue(w waitingTx) error {
	return p.configure(func(s *settings) error {
		size := len(w.Raw)
		for _, other := range s.Waiting {
			size += len(other.Raw)
		}
		if len(s.Waiting) >= maxWaitingTxs || size > maxWaitingBytes {
			return errors.New("too many transactions of impersonated accounts wait for a block: mine one first")
		}
		s.Waiting = append(s.Waiting, w)
		return nil
	})
}

// mineWaiting seals a block with a transaction that waits. One that can't be executed is
// taken back, and its sender gets the reason.
func (p developer) mineWaiting(hash common.Hash) error {
	_, err := p.commit(func() error {
		if !slices.ContainsFunc(p.settings.Load().Waiting, func(w waitingTx) bool { return w.is(hash) }) {
			return errMined
		}
		if err := p.rehearse(newOffers(p.producer), hash); err != nil {
			return err
		}
		return p.sealNext()
	})
	if errors.Is(err, errMined) {
		return nil
	}
	return err
}

// errMined says that another block took a transaction meanwhile.
var errMined = errors.New("the transaction is in a block")

// rehearse executes what waits without writing anything. It drops the transaction if that
// fails.
func (p developer) rehearse(source *offers, hash common.Hash) error {
	source.pools = nil
	head := p.eth.BlockChain().CurrentBlock()
	plan := forge.Plan{Time: head.Time + 1, GasLimit: head.GasLimit, Source: source}
	if s := p.settings.Load(); s.forNext(head.Number.Uint64() + 1) {
		plan.BaseFee = s.baseFee()
	}
	if _, err := plan.Make(p.eth.BlockChain()); err != nil {
		return err
	}
	for i, w := range source.waiting {
		if w.is(hash) && source.gone[i] != nil {
			reason := source.gone[i]
			return firstOf(p.set(func(s *settings) error {
				s.Waiting = slices.Delete(s.Waiting, i, i+1)
				return nil
			}), reason)
		}
	}
	return nil
}

// waitingAnswer is eth_getTransactionByHash for a transaction that go-ethereum's pool
// doesn't know, or nil.
func (d devSender) waitingAnswer(params []byte) []byte {
	waiting := d.producer().settings.Load().Waiting
	if len(waiting) == 0 {
		return nil
	}
	var list []common.Hash
	if json.Unmarshal(params, &list) != nil || len(list) != 1 {
		return nil
	}
	for _, w := range waiting {
		if tx := w.tx(); tx != nil && tx.Hash() == list[0] {
			return pendingJSON(tx, w.From)
		}
	}
	return nil
}

// pendingJSON is a transaction without a block.
func pendingJSON(tx *types.Transaction, from common.Address) []byte {
	text, err := tx.MarshalJSON()
	members := map[string]any{}
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil
	}
	members["from"], members["gasPrice"] = from, (*hexutil.Big)(tx.GasPrice())
	members["blockHash"], members["blockNumber"], members["transactionIndex"] = nil, nil, nil
	text, _ = json.Marshal(members) // what was JSON is JSON
	return text
}

// sendTime is how long a developer's transaction waits for its block, and queueTime how long
// the pool may take to see that it can be mined.
const (
	sendTime  = 5 * time.Second
	queueTime = 200 * time.Millisecond
)

// awaitMined returns when a transaction is in a block, or when it will not be soon. Tests
// that were written for Hardhat read the chain right after they have sent.
func (n *Node) awaitMined(ctx context.Context, hash common.Hash) {
	p := n.engine.producer
	if !nodegate.GrantFrom(ctx).Develops() || !p.automines() {
		return
	}
	for start := time.Now(); time.Since(start) < sendTime && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		status := n.engine.eth.TxPool().Status(hash) // first: it leaves the pool after it is in a block
		stuck := status == txpool.TxStatusQueued && time.Since(start) > queueTime
		if n.isMined(hash) || stuck || status == txpool.TxStatusUnknown {
			break
		}
	}
	_ = p.await() // a broken disk is reported by the call itself
}
