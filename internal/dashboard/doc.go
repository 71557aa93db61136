// Package dashboard is the web front end: sign up, create a key, copy a snippet, see the
// requests. The server renders pages from the templates in pages/; static/ has the styles
// and a few small scripts. Every page works without the scripts.
//
// To add a page, write a handler in the file of its subject, put it into the table in
// routes.go and its template into pages/. A handler reads the form, calls one use case
// and shows what came of it; rules live in the use cases. It returns an error instead of
// writing one: errors.go shows them all.
//
// The table says who may open what: everybody, who is signed in, or an operator. A
// change is a POST, and a POST from another site never reaches its handler.
package dashboard
