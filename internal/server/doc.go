// Package server builds the service from its configuration: networks, front ends
// and listeners. It is the one package that knows all others. Start at New in
// server.go: a Server joins the accounts, the storage plane, the networks, the
// listeners and the admin pages.
package server
