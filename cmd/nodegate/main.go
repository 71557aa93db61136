// Command nodegate serves JSON-RPC for blockchain networks from one binary: it
// reads its configuration, builds the server of internal/server and runs it until
// a signal. One file holds each subcommand; everything they share is in cli.go.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
