package eth

import (
	"context"
	"strconv"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// getTransactionByHash: transaction hash.
func getTransactionByHash(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	result, err := n.byHash(ctx, row, params)
	if err != nil {
		return nil, err
	}
	return n.cfg.Dialect.transaction(result, false), nil
}

// getTransactionReceipt: transaction hash.
func getTransactionReceipt(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	result, err := n.byHash(ctx, row, params)
	if err != nil {
		return nil, err
	}
	return n.cfg.Dialect.receipt(result), nil
}

// byHash looks one transaction up and checks that its block is within the window.
func (n *Node) byHash(ctx context.Context, row *method.Row, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, row.MaxParams()); err != nil {
		return nil, err
	}
	h, err := hashArg(&a, 0)
	if err != nil {
		return nil, err
	}
	c := newCanonical(72)
	c.str(h)
	result, err := n.next.Call(ctx, row.Name, c.bytes())
	if err != nil {
		return nil, err
	}
	return result, n.answerInWindow(ctx, row.Name, result)
}

// getTransactionByBlockHashAndIndex: block hash, index.
func getTransactionByBlockHashAndIndex(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, row.MaxParams()); err != nil {
		return nil, err
	}
	h, err := hashArg(&a, 0)
	if err != nil {
		return nil, err
	}
	if a.at(1) == nil {
		return nil, missing(1)
	}
	index, reason := quantity(a.at(1), 64, "hexutil.Uint")
	if reason != "" {
		return nil, badArg(1, reason)
	}
	c := newCanonical(96)
	c.str(h)
	c.str(index)
	result, err := n.next.Call(ctx, row.Name, c.bytes())
	if err != nil {
		return nil, err
	}
	if err := n.answerInWindow(ctx, row.Name, result); err != nil {
		return nil, err
	}
	return n.cfg.Dialect.transaction(result, true), nil
}

func hashArg(a *args, i int) (string, error) {
	if a.at(i) == nil {
		return "", missing(i)
	}
	h, reason := hash(a.at(i))
	if reason != "" {
		return "", badArg(i, reason)
	}
	return h, nil
}

// answerInWindow checks a method's window by the block an answer is from. A
// pending transaction and a null have none.
func (n *Node) answerInWindow(ctx context.Context, name string, result []byte) error {
	window, ok := n.cfg.HistoryWindow[name]
	if !ok {
		return nil
	}
	at, ok := blockNumberIn(result, "blockNumber")
	if !ok {
		return nil
	}
	return n.checkWindow(ctx, at, window)
}

// getBlockReceipts: a block, also as a decimal number; pending is latest.
func getBlockReceipts(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, row.MaxParams()); err != nil {
		return nil, err
	}
	if a.at(row.Block) == nil {
		return nil, missing(row.Block)
	}
	b, reason := parseDecimalBlock(a.at(row.Block))
	if reason != "" {
		return nil, badArg(row.Block, reason)
	}
	if b.text == "pending" {
		b.text = "latest"
	}
	if err := n.inWindow(ctx, row.Name, b); err != nil {
		return nil, err
	}
	c := newCanonical(96)
	b.append(&c)
	result, err := n.next.Call(ctx, row.Name, c.bytes())
	if err != nil {
		return nil, err
	}
	return n.cfg.Dialect.receipts(result), nil
}

// parseDecimalBlock takes a decimal number, bare or in a string, besides every
// other form of a block parameter.
func parseDecimalBlock(raw []byte) (blockParam, string) {
	digits := raw
	if s, ok := jsonrpc.String(raw); ok {
		digits = s
	}
	if !allDecimal(digits) {
		return parseBlock(raw)
	}
	n, err := strconv.ParseUint(string(digits), 10, 63)
	if err != nil {
		return blockParam{}, "block number larger than int64"
	}
	return blockParam{text: quoted(n)}, ""
}

func allDecimal(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}
