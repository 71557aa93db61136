// Package nonce lets a sender read its own transactions. A node that has just accepted one
// may not count it yet, another node does not have it yet, and another server has not
// seen it: a wallet that asks for its pending nonce right then would reuse it.
//
// A [Node] remembers the nonces that were sent a moment ago, by sender, and counts those
// that follow a node's answer without a gap. Start at [Node.Call].
package nonce
