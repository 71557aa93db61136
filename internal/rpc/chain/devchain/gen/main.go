// Command gen writes the chain files of the development chains again. It runs in the
// folder of package devchain, by "go generate".
package main

import (
	"fmt"
	"os"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

func main() {
	for _, name := range []string{"devnet", "rollup"} {
		if err := write(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(name string) error {
	chain, err := devchain.Generate(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name+".rlp", chain, 0o644)
}
