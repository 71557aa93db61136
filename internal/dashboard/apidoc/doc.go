// Package apidoc documents JSON-RPC methods: parameters, results, errors,
// dialects and an example of each. The dashboard's pages under /docs and openrpc.json
// are made from these tables and from nothing else.
//
// To add a method, enter it in the table of its group (nine.go, others.go, logs.go) and
// give it an example that works on a new built-in network; the test in test/dashboard runs
// it and, with -update-answers, writes its answer into answers.json. Types that several methods
// share are in types.go. Tests hold the tables to the methods that the service counts,
// and every example to the types it is said to have.
package apidoc
