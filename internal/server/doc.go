// Package server builds the service from its configuration: networks, front ends
// and listeners. It is the one package that may import all the others.
package server
