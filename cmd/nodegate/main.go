// Command nodegate serves JSON-RPC for blockchain networks from one binary: it
// reads its configuration, builds the server of internal/server and runs it until
// a signal. Beside a running server it also creates and changes accounts and keys,
// right in the store (see control.go); the rules about them are not here but in the
// use cases behind server.Control. One file holds each subcommand or group of
// them; what all share is in cli.go, output.go and prompt.go.
package main

import (
	"context"
	"os"

	"github.com/nodegate/nodegate/internal/background"
)

func main() {
	background.MakeRoom()
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
