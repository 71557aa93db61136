package main

import (
	"fmt"

	"github.com/nodegate/nodegate/internal/server"
)

// adoptCmd lets this server keep the stored content and the embedded networks of a
// Postgres that another server's data folder had.
type adoptCmd struct{ confirmed }

// Run writes to the account store; the server is started after it.
func (cmd *adoptCmd) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		if !server.HasData(c.cfg) {
			return noData(c.cfg)
		}
		if err := cmd.confirm(a, "Make this data folder the only owner of the embedded block store and networks"); err != nil {
			return err
		}
		if err := server.Adopt(a.ctx, c.cfg, c.Store); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.stdout, "This data folder now owns the embedded block store and networks. Start the server.")
		return err
	})
}
