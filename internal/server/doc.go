// Package server builds the service from its configuration: networks, front ends
// and listeners. It is the one place that knows every room of the house.
package server
