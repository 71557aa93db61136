// Package pool makes one node of many: a pool of a network's remote nodes that
// knows which of them are well and how far each has come, and asks the right one.
//
// [Open] starts a [Pool]; it is a nodegate.Node and a nodegate.Feed. A call goes
// through these steps, each in a file of its own:
//
//   - query.go reads which block the call is about;
//   - pick.go chooses a node: one that is well, has that block (package heads), keeps such
//     history (history.go), has credits left (credits.go) and is the quicker of two
//     drawn at random;
//   - hedge.go asks it (ask.go), and a second one when the answer takes unusually long,
//     each attempt in a time of its own (deadline.go);
//   - answer.go judges what came back: the answer of the call, an error that is the
//     caller's business, a sign that this node lacks something, or rubbish;
//   - read.go asks another node where that makes sense, within a budget (budget.go).
//
// Log queries that no node answers at once are split (logs.go, logsplit.go) to what nodes are
// known to allow (logcap.go); each part takes the same steps.
//
// Transactions (send.go) and filters (sticky.go) go ways of their own. Each of these is a
// type that the pool builds and connects in assemble: nodeSet chooses, asker asks one
// node, judge decides what came back, reader, sender and filters answer calls.
//
// Beside the calls, every node has a goroutine that looks after it (health.go): that
// it is of the right chain, where its head is, and when a node that was put aside
// (eject.go) may come back. A second one holds its WebSocket, if it has one (link.go).
// What they report of heads goes to package heads. Package feed makes the events of
// subscriptions from the same reports.
//
// Nothing that a node says is trusted: envelopes and JSON are checked by package
// client, and here that an answer is about what was asked.
package pool
