// Package auth authenticates requests by API key. It keeps every live key in memory, by
// digest, so that a request costs one keyed hash and one map lookup and never touches a
// disk or a network. Start at Open and Authenticate.
//
// The store is the source of truth. The Authenticator loads it at start and then follows the
// store's change sequence, so what the command line or another server changes
// holds here within a second: a revoked key stops, and its open WebSockets end.
// A key that is not in memory may have been created a moment ago, so a well-formed
// one is looked up in the store once; then it is remembered as unknown.
//
// While the store is unavailable, known keys keep working for five minutes. After that
// the package can't know whether they were revoked, and refuses requests.
package auth
