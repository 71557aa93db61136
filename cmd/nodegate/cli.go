package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
)

// cli declares commands and flags. Flags are pointers, so that one that was not
// given leaves the environment and the file alone.
type cli struct {
	ConfigFile    string  `name:"config" placeholder:"FILE" help:"YAML configuration file (also NODEGATE_CONFIG)."`
	Data          *string `placeholder:"DIR" help:"Folder of the chains and all other state."`
	Listen        *string `placeholder:"HOST:PORT" help:"Address of JSON-RPC over HTTP and WebSocket."`
	StorageListen *string `placeholder:"HOST:PORT" help:"Address of the storage gateway."`
	AdminListen   *string `placeholder:"HOST:PORT" help:"Address of metrics, health and profiles."`
	LogLevel      *string `placeholder:"LEVEL" help:"debug, info, warn or error."`
	ShowHelp      bool    `name:"help" short:"h" help:"Show help."`
	ShowVersion   bool    `name:"version" help:"Print the version."`

	Serve   serveCmd   `cmd:"" default:"1" help:"Run the service. This is the default command."`
	Account accountCmd `cmd:"" help:"Create, show and change accounts."`
	Key     keyCmd     `cmd:"" help:"Create, show, change and revoke API keys."`
	Usage   usageCmd   `cmd:"" help:"Show the usage of an account: requests, credits, errors and latency."`
	Audit   auditCmd   `cmd:"" help:"Show and verify the audit log."`
	GC      gcCmd      `cmd:"" name:"gc" help:"Run garbage collection: remove stored content that no account needs."`
	Backup  backupCmd  `cmd:"" help:"Back up accounts, keys, stored content and embedded networks, also while the server runs. --verify checks a backup."`
	Restore restoreCmd `cmd:"" help:"Restore a backup into an empty data folder."`
	Migrate migrateCmd `cmd:"" help:"Move accounts, keys, usage, the audit log and stored content from the data folder to the Postgres and Kubo nodes of another configuration."`
	Adopt   adoptCmd   `cmd:"" help:"Make this data folder the owner of the embedded block store and networks, after the previous server is permanently gone."`
	CA      caCmd      `cmd:"" name:"ca" help:"Print the certificate of the local authority, for clients of the storage gateway to trust."`
	Cache   cacheCmd   `cmd:"" help:"Clear cached responses."`
	Nodes   nodesCmd   `cmd:"" help:"List remote nodes of the running server, and cordon them."`
	Ledger  ledgerCmd  `cmd:"" help:"Show, verify and rebuild the ledgers of remote networks."`
	Status  statusCmd  `cmd:"" help:"Show the running server on one screen: networks, nodes, ledgers, storage, disk and versions."`
	Doctor  doctorCmd  `cmd:"" help:"Check this server, what it depends on, and the remote nodes."`
	Demo    demoCmd    `cmd:"" help:"Generate sample traffic."`
	Config  configCmd  `cmd:"" help:"Print the effective configuration, without secrets."`
	Version versionCmd `cmd:"" help:"Print the versions of nodegate and its main dependencies."`
	Help    helpCmd    `cmd:"" help:"Print commands, flags and all settings."`

	Completion completionCmd `cmd:"" help:"Print a script that completes commands and flags in bash, zsh or fish."`
	Man        manCmd        `cmd:"" hidden:"" help:"Write a man page for each command into a folder, for packages."`
}

// app is what the commands work with.
type app struct {
	ctx            context.Context
	cli            *cli
	parser         *kong.Kong
	stdin          *input
	stdout, stderr io.Writer
}

// usageError is a command line that can't be understood. node is the command that it
// names, as far as it goes, or nil.
type usageError struct {
	err  error
	node *kong.Node
}

func (e *usageError) Error() string { return e.err.Error() }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{ctx: ctx, cli: &cli{}, stdin: newInput(stdin), stdout: stdout, stderr: stderr}
	if err := a.dispatch(args); err != nil {
		report(stderr, err)
		return exitCode(err)
	}
	return 0
}

func (a *app) dispatch(args []string) error {
	parser, err := newParser(a.cli)
	if err != nil {
		return err
	}
	a.parser = parser
	parsed, err := parser.Parse(args)
	if a.cli.ShowHelp { // whoever asks for help need not give what the command wants
		return a.help(selected(parsed, err))
	}
	if a.cli.ShowVersion {
		return versionCmd{}.Run(a)
	}
	if err != nil {
		return &usageError{err, selected(parsed, err)}
	}
	return parsed.Run(a)
}

// selected is the command that a command line names, as far as it goes. A command that runs
// because none was named is not selected: the library marks it as its own parent.
func selected(parsed *kong.Context, err error) *kong.Node {
	var broken *kong.ParseError
	if errors.As(err, &broken) {
		parsed = broken.Context
	}
	if parsed == nil {
		return nil
	}
	var node *kong.Node
	for _, p := range parsed.Path {
		if p.Command != nil && p.Command != p.Parent {
			node = p.Command
		}
	}
	return node
}

// newParser leaves out the library's own help flag: it would exit the process,
// and it knows nothing of the settings.
func newParser(c *cli) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("nodegate"),
		kong.Description("A self-hosted gateway for blockchain nodes and IPFS storage. Includes a development node and a block store."),
		kong.NoDefaultHelp(),
	)
}

// load makes the effective configuration.
func (a *app) load() (*config.Config, error) {
	return loadConfig(config.Options{File: a.cli.ConfigFile, Env: os.Environ(), Flags: a.cli.flags()})
}

func loadConfig(o config.Options) (*config.Config, error) {
	cfg, err := config.Load(o)
	if err != nil {
		return nil, &nodegate.Error{Op: "config", Code: nodegate.BadConfig, Msg: "the configuration can't be used", Err: err}
	}
	return cfg, nil
}

// flags returns the flags that were given, by the name of their setting.
func (c *cli) flags() map[string]string {
	given := map[string]string{}
	for name, value := range map[string]*string{
		"data": c.Data, "listen": c.Listen, "storage_listen": c.StorageListen,
		"admin_listen": c.AdminListen, "log.level": c.LogLevel,
	} {
		if value != nil {
			given[name] = *value
		}
	}
	return given
}

// report prints an error for the person at the terminal. Problems of the
// configuration stand at the start of their lines, where editors look for a position.
func report(w io.Writer, err error) {
	var problems config.Errors
	var usage *usageError
	switch {
	case errors.Is(err, errUnwell): // it has been said
		return
	case errors.As(err, &usage):
		fmt.Fprintf(w, "nodegate: %v\n%s\n", err, usageOf(usage.node))
		return
	case !errors.As(err, &problems):
		fmt.Fprintf(w, "nodegate: %s\n", explain(err))
		return
	}
	fmt.Fprintln(w, problems)
	noun := "problem"
	if len(problems) > 1 {
		noun += "s"
	}
	fmt.Fprintf(w, "nodegate: %d %s in the configuration\n", len(problems), noun)
}

// explain is the text of an error: the words for the user alone where they can
// mend it, and the whole chain where somebody has to look for the cause.
func explain(err error) string {
	e := nodegate.AsError(err)
	switch e.Code {
	case nodegate.InvalidInput, nodegate.NotFound, nodegate.Conflict, nodegate.CardDeclined:
		return e.Msg
	}
	return err.Error()
}
