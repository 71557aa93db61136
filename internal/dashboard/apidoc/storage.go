package apidoc

import "strings"

// Command documents a command of the storage gateway, which is called as Kubo's RPC API:
// POST /api/v0/NAME.
type Command struct {
	Name    string // pin/add
	Takes   string // its argument, or what its body holds; "" is nothing
	Summary string
}

// commands are what the gateway serves; a test compares them with its own table.
var commands = []Command{
	{"add", "files", "Store and pin files and directories"},
	{"cat", "ipfs-path", "Read the content of files"},
	{"get", "ipfs-path", "Download a file or a directory as a tar archive"},
	{"ls", "ipfs-path", "List the entries of a directory"},
	{"pin/add", "ipfs-path", "Pin content, so that it is kept"},
	{"pin/ls", "ipfs-path, optional", "List your pins"},
	{"pin/rm", "ipfs-path", "Remove a pin"},
	{"pin/update", "from-path, to-path", "Move a pin from one version of content to another"},
	{"pin/verify", "", "Read all pinned content and list pins with blocks that can't be read"},
	{"block/get", "cid", "Read one block"},
	{"block/put", "data", "Store one block"},
	{"block/stat", "cid", "Get the size of a block"},
	{"dag/get", "ref", "Read a value in dag-json, dag-cbor or dag-pb"},
	{"dag/put", "object data", "Store a value"},
	{"dag/resolve", "ref", "Resolve a path to a block and the rest of the path"},
	{"dag/import", "CAR files", "Store the blocks of CAR files"},
	{"dag/export", "root", "Download a DAG as a CAR file"},
	{"dag/stat", "root", "Count the blocks and bytes of a DAG"},
	{"files/stat", "path", "Get the size, type, mode and blocks of /ipfs/CID/path"},
	{"refs", "ipfs-path", "List the links of a block"},
	{"resolve", "name", "Get the CID that a path leads to"},
	{"object/diff", "obj_a, obj_b", "Compare two directories"},
	{"repo/stat", "", "Get what you store, your quota and your number of pins"},
	{"repo/version", "", "Get the version of the repository"},
	{"stats/repo", "", "The same as repo/stat"},
	{"id", "peerid, optional", "Get a peer ID, for clients that need one"},
	{"cid/format", "cid", "Convert a CID"},
	{"cid/base32", "cid", "Convert a CID to version 1 in base32"},
	{"cid/inspect", "cid", "Show the parts of a CID"},
	{"cid/bases", "", "List multibase encodings"},
	{"cid/codecs", "", "List codecs"},
	{"cid/hashes", "", "List hash functions"},
	{"multibase/encode", "file", "Encode data in a multibase encoding"},
	{"multibase/decode", "encoded file", "Decode multibase data"},
	{"multibase/transcode", "encoded file", "Convert multibase data to another encoding"},
	{"multibase/list", "", "List multibase encodings"},
	{"version", "", "Get the Kubo version whose behavior is matched"},
}

// Commands are the storage commands that match a search, as Groups does it.
func Commands(search string) (list []Command) {
	words := strings.Fields(strings.ToLower(search))
	for _, c := range commands {
		text, all := strings.ToLower("storage ipfs "+c.Name+" "+c.Summary), true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			list = append(list, c)
		}
	}
	return list
}
