package chain

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/method"
)

// send gives a transaction to the pool and answers when it is in the journal: from then
// on it survives a crash, whether it is mined or waits. The pool comes first, so that the
// journal holds nothing that was refused; a transaction whose sender got an error from
// the journal may still be mined, as after a connection that broke.
//
// A transaction that is known is answered with its hash, as from a remote node.
func (n *Node) send(ctx context.Context, params []byte) ([]byte, error) {
	p := n.engine.producer
	if err := firstOf(p.room.check(), n.growth.admit(ctx)); err != nil {
		return nil, err
	}
	epoch := p.epoch.Load()
	tx, raw, result, err := newSubmitter(n).submit(ctx, params)
	if tx == nil {
		return result, err // go-ethereum has said what is wrong with it
	}
	if err != nil && !n.engine.eth.TxPool().Has(tx.Hash()) {
		n.growth.forget(tx)
	}
	if err != nil && !n.isKnown(tx.Hash(), err) {
		return nil, firstOf(p.failure(), asOfHead(n.engine.eth.BlockChain(), tx, err))
	}
	if err := n.keep(tx.Hash(), raw, epoch); err != nil {
		return nil, err
	}
	n.awaitMined(ctx, tx.Hash())
	return json.Marshal(tx.Hash())
}

// How go-ethereum words a transaction that the pool holds, and one whose nonce was used,
// perhaps by itself.
const (
	alreadyKnown = "already known"
	nonceTooLow  = "nonce too low"
)

// isKnown tells whether a transaction was refused because it is there already.
func (n *Node) isKnown(hash common.Hash, refusal error) bool {
	msg := nodegate.AsError(refusal).Msg
	if strings.HasPrefix(msg, alreadyKnown) {
		return true
	}
	return strings.HasPrefix(msg, nonceTooLow) && n.isMined(hash) && n.engine.producer.await() == nil
}

// underpriced is how go-ethereum words a transaction that should replace another one, which
// waits in the pool.
const underpriced = "replacement transaction underpriced"

// asOfHead is a refusal by the pool in the light of the newest block. The pool hears of a block
// a little later than a client may, and until then says of a transaction whose nonce the block
// has used that it can't replace the one that was mined.
func asOfHead(bc *core.BlockChain, tx *types.Transaction, refusal error) error {
	if tx == nil || !strings.HasPrefix(nodegate.AsError(refusal).Msg, underpriced) {
		return refusal
	}
	if err := canPay(bc, tx); errors.Is(err, core.ErrNonceTooLow) {
		return apiError(err)
	}
	return refusal
}

// isMined tells whether a block of the chain has a transaction. It reads the database: what
// go-ethereum remembers may be about a block that is gone, see lookUpAgain.
func (n *Node) isMined(hash common.Hash) bool {
	tx, _, _, _ := rawdb.ReadCanonicalTransaction(n.engine.eth.ChainDb(), hash)
	return tx != nil
}

// keep returns when a transaction of the pool survives a crash.
func (n *Node) keep(hash common.Hash, raw []byte, epoch int64) error {
	p := n.engine.producer
	if err := p.journal.Add(hash, raw); err != nil {
		if disk.IsFull(err) {
			return disk.Full("chain.send", err)
		}
		p.fail(err)
		return p.failure()
	}
	return firstOf(p.failure(), p.tidy(epoch))
}

// firstOf is the first error that there is.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// rawTransaction reads the first parameter, or returns nil when it is no transaction.
//
// The error is for plain parameters that hold no transaction, in go-ethereum's words: its
// JSON-RPC server, which would say the same, reads long ones three times.
func rawTransaction(params []byte) (tx *types.Transaction, raw []byte, err error) {
	plain := true
	if raw = plainHex(params); raw == nil {
		raw, plain = firstHex(params), false
	}
	if raw == nil {
		return nil, nil, nil
	}
	tx = new(types.Transaction)
	if err = tx.UnmarshalBinary(raw); err == nil {
		return tx, raw, nil
	}
	if !plain {
		return nil, nil, nil
	}
	return nil, nil, apiError(err)
}

// plainHex is the bytes of parameters like ["0x02f8"], as the layer above writes them, or nil.
// Decoding JSON takes ten times as long.
func plainHex(params []byte) []byte {
	text, begins := bytes.CutPrefix(params, []byte(`["0x`))
	text, ends := bytes.CutSuffix(text, []byte(`"]`))
	if !begins || !ends {
		return nil
	}
	raw := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(raw, text); err != nil {
		return nil
	}
	return raw
}

// firstHex is the bytes of the first parameter, or nil.
func firstHex(params []byte) (raw hexutil.Bytes) {
	var list []json.RawMessage
	if json.Unmarshal(params, &list) != nil || len(list) == 0 || json.Unmarshal(list[0], &raw) != nil {
		return nil
	}
	return raw
}

// sendSync is go-ethereum's eth_sendRawTransactionSync. A receipt speaks of a block,
// which is on disk before it is answered; a transaction that only got into the pool is
// kept as any other.
func (n *Node) sendSync(ctx context.Context, params []byte) ([]byte, error) {
	if len(params) >= largeSend {
		return newSubmitter(n).await(ctx, params)
	}
	p := n.engine.producer
	if err := firstOf(p.room.check(), n.growth.admit(ctx)); err != nil {
		return nil, err
	}
	tx, raw, err := rawTransaction(params)
	if err != nil {
		return nil, err
	}
	n.growth.expect(ctx, tx)
	epoch := p.epoch.Load()
	result, err := n.ask(ctx, method.EthSendRawTransactionSync, params)
	if err == nil {
		return result, nil
	}
	switch {
	case tx == nil:
	case n.engine.eth.TxPool().Has(tx.Hash()):
		err = firstOf(n.keep(tx.Hash(), raw, epoch), err)
	default:
		n.growth.forget(tx)
	}
	return nil, asOfHead(n.engine.eth.BlockChain(), tx, err)
}

// ask answers by go-ethereum's API, and doesn't wait for what a failed disk holds up.
func (n *Node) ask(ctx context.Context, name string, params []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.engine.producer.life, cancel)()
	return n.generic(ctx, name, params)
}

// replay gives the transactions of the journal to the pool again, in the order in which
// they came. What was mined meanwhile is refused, and so is what was replaced; both
// leave the journal.
func (n *Node) replay() {
	kept := n.engine.kept
	n.engine.kept = nil
	if len(kept) == 0 {
		return
	}
	for _, tx := range kept {
		n.serve(context.Background(), method.EthSendRawTransaction, []byte(`["`+hexutil.Encode(tx.Raw)+`"]`))
	}
	p := n.engine.producer
	p.log.Info("transactions of the last run are back in the pool", "kept", len(kept), "waiting", p.executable())
	if p.mu.acquire(p.ended) == nil {
		defer p.mu.release()
		if err := p.compact(); err != nil {
			p.log.Warn("can't compact the transaction journal", "err", err)
		}
	}
}
