// Package method is the table of what is known about JSON-RPC methods: where their
// block parameter stands, what a node needs to answer them, and how long an answer
// stays true. The layers over remote nodes go by it, so that a method is described
// in one place. A method that is not in the table is passed on and never kept.
package method
