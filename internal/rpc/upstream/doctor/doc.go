// Package doctor asks the remote nodes of a network what they are and what they can
// do, and says what is wrong with them. It is for an operator who puts nodes behind the
// service, or wonders about one: `nodegate doctor` prints what it finds.
//
// [Examine] asks every node of a network at the same time (ask.go has the questions)
// and compares what they said with the configuration and with each other (judge.go).
// ledger.go estimates what the network's ledger takes of nodes and disk.
// It only reads: nothing is sent that changes a node.
package doctor
