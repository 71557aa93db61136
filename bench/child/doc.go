// Package child runs a benchmark's servers in processes of their own: a benchmark
// starts itself again with a hidden first argument, and that process serves until
// its input ends.
//
// The parent's side is Start and Process (process.go); the child's side is Serve
// (serve.go), with Open for the whole service. Usage (usage.go) reads what any
// process on this machine uses.
package child
