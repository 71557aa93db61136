// Package apidoc shows the method table as documentation: the dashboard's pages under
// /docs and openrpc.json are made from its rows and from nothing else.
//
// The rows are in internal/method. Types that they name are in types.go, and the answer of
// each example is in answers.json: the test in test/dashboard runs the examples and, with
// -update-answers, writes what they answer. Tests hold every example to the types it is
// said to have.
package apidoc
