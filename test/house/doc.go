// Package house holds the rules of the house as tests: who may import whom, that
// every package explains itself, and how large functions and files may grow.
package house
