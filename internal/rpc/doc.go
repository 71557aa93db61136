// Package rpc holds the JSON-RPC plane, in the order a request passes: edge (HTTP and
// WebSocket; fastpath and ws below it), jsonrpc (messages), eth (checks and dialects),
// blocktag, proven, ledger, cache, then upstream (remote nodes) or chain (the embedded node). Every layer
// from eth down is a nodegate.Node over a nodegate.Node. Start reading at edge.
package rpc
