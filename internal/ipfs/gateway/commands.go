package gateway

import (
	"context"
	"strings"
)

// command is one command of the API.
type command struct {
	name      string
	writes    bool     // counts as a write for the account's rate
	stores    bool     // takes more of the disk
	heavy     bool     // may read very many blocks for a small answer, or keep a core busy
	heavyWith string   // an option with which it is heavy
	decodes   bool     // takes a block apart, which may keep a core busy for a while
	follows   bool     // takes blocks apart if it is given a path
	streams   bool     // may take as long as it moves
	arguments []string // that it needs, by Kubo's names
	optional  bool     // it works without the arguments
	body      bool     // arguments may also come in the body, one a line
	file      string   // what Kubo calls the file it needs
	run       func(ctx context.Context, c *call) error
}

// commandTable lists what is served. The first four are the specification; the
// others are what users of such a service also call.
func commandTable() map[string]*command {
	table, path := map[string]*command{}, []string{"ipfs-path"}
	for _, c := range []*command{
		{name: "add", writes: true, stores: true, streams: true, file: "path", run: add},
		{name: "cat", streams: true, arguments: path, body: true, run: cat},
		{name: "pin/add", writes: true, stores: true, heavy: true, streams: true, arguments: path, body: true, run: pinAdd},
		{name: "pin/rm", writes: true, arguments: path, body: true, run: pinRemove},
		{name: "pin/ls", heavy: true, arguments: path, optional: true, run: pinList},
		{name: "pin/update", writes: true, stores: true, heavy: true, streams: true, arguments: []string{"from-path", "to-path"}, run: pinUpdate},
		{name: "get", streams: true, heavy: true, arguments: path, body: true, run: get},
		{name: "ls", heavy: true, arguments: path, body: true, run: list},
		{name: "block/get", follows: true, arguments: []string{"cid"}, body: true, run: blockGet},
		{name: "block/put", writes: true, stores: true, streams: true, file: "data", run: blockPut},
		{name: "block/stat", follows: true, arguments: []string{"cid"}, body: true, run: blockStat},
		{name: "dag/get", decodes: true, arguments: []string{"ref"}, body: true, run: dagGet},
		{name: "dag/put", writes: true, stores: true, decodes: true, streams: true, file: "object data", run: dagPut},
		{name: "dag/resolve", follows: true, arguments: []string{"ref"}, body: true, run: dagResolve},
		{name: "dag/import", writes: true, stores: true, streams: true, file: "path", run: dagImport},
		{name: "dag/export", streams: true, heavy: true, arguments: []string{"root"}, run: dagExport},
		{name: "dag/stat", heavy: true, arguments: []string{"root"}, body: true, run: dagStat},
		{name: "files/stat", decodes: true, heavyWith: "with-local", arguments: []string{"path"}, run: fileStat},
		{name: "refs", heavy: true, arguments: path, body: true, run: refs},
		{name: "resolve", follows: true, arguments: []string{"name"}, body: true, run: resolvePath},
		{name: "object/diff", heavy: true, arguments: []string{"obj_a", "obj_b"}, run: objectDiff},
		{name: "pin/verify", heavy: true, run: pinVerify},
		{name: "repo/stat", heavy: true, run: repoStat},
		{name: "repo/version", run: repoVersion},
		{name: "stats/repo", heavy: true, run: repoStat},
		{name: "id", arguments: []string{"peerid"}, optional: true, run: identify},
		{name: "cid/format", arguments: []string{"cid"}, body: true, run: cidFormat},
		{name: "cid/base32", arguments: []string{"cid"}, body: true, run: cidBase32},
		{name: "cid/inspect", arguments: []string{"cid"}, body: true, run: cidInspect},
		{name: "cid/bases", run: listBases},
		{name: "cid/codecs", run: listCodecs},
		{name: "cid/hashes", run: listHashes},
		{name: "multibase/encode", file: "file", run: baseEncode},
		{name: "multibase/decode", file: "encoded_file", run: baseDecode},
		{name: "multibase/transcode", file: "encoded_file", run: baseTranscode},
		{name: "multibase/list", run: listBases},
		{name: "version", run: version},
	} {
		table[c.name] = c
	}
	return table
}

// heavy tells whether a request may keep a core busy.
func (c *call) heavy() bool {
	return c.command.heavy || c.command.heavyWith != "" && c.query.Flag(c.command.heavyWith)
}

// takesApart tells whether a command with these arguments takes blocks apart.
func (c *command) takesApart(args []string) bool {
	return c.decodes || c.follows && strings.Contains(args[0], "/")
}

// version answers as a Kubo of the version whose behavior is matched: clients
// look at it before they dare to call anything.
func version(_ context.Context, c *call) error {
	return c.answer.object(struct{ Version, Commit, Repo, System, Golang string }{
		Version: "0.43.0", Repo: kuboRepo, System: platform(), Golang: goVersion(),
	})
}

// kuboRepo is the version of the repository of that Kubo.
const kuboRepo = "18"

func repoVersion(_ context.Context, c *call) error {
	return c.answer.object(struct{ Version string }{kuboRepo})
}
