// Package house holds the rules of the code as tests: who may import whom, that
// every package explains itself, and how large functions, files and types may grow.
package house
