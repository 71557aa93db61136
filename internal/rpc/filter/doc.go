// Package filter keeps the filters that clients poll: eth_newFilter and its relatives. A
// node's own filters live on that one node, die with it, and answer to whoever names
// them. Here a filter is what it looks for and how far its owner has read; what is new is
// asked for when it is polled. So it works on every server and through the death of any
// node, and only the API key that created it can use it.
//
// A [Store] keeps the filters: [Memory] on one server, Redis for several. Start at
// [Node.Call].
package filter
