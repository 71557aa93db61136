// Package filter gives filters an owner. A node hands out an id to whoever creates a
// filter, and answers to anybody who names it: go-ethereum's ids can be predicted from a
// few hundred earlier ones, so one tenant could read and remove another's.
//
// A [Node] gives clients random ids of its own, each of which only the API key that
// created it can use. It bounds the filters of an account. Start at [Node.Call].
package filter
