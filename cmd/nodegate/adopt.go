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
		if err := cmd.confirm(a, "Let this data folder have what is embedded, and no other one from now on"); err != nil {
			return err
		}
		if err := server.Adopt(a.ctx, c.cfg, c.Store); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.stdout, "this data folder keeps what is embedded from now on, stored content and networks; start the server")
		return err
	})
}
