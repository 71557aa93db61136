package files

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// MaxFolder is how many entries a new folder can have: all of them are in one block.
const MaxFolder = 500

// folderNode is a UnixFS directory as dag-json.
type folderNode struct {
	Data  jsonBytes
	Links []folderLink
}

type folderLink struct {
	Hash  jsonLink
	Name  string
	Tsize int64
}

type jsonBytes struct {
	Slash struct {
		Bytes string `json:"bytes"`
	} `json:"/"`
}

type jsonLink struct {
	Slash string `json:"/"`
}

// unixfsDirectory is the data of a directory's node, in base64.
const unixfsDirectory = "CAE"

// Folder is a directory of what is pinned, as dag-json for dag/put. Entries have the names of
// their pins, or their CIDs; of two with the same name the second gets a number.
//
// Returns InvalidInput for too few or too many pins, and for what is no file or folder.
func Folder(pins []nodegate.Pin) ([]byte, error) {
	if len(pins) == 0 || len(pins) > MaxFolder {
		return nil, badFolder(fmt.Sprintf("choose at least one file and at most %d", MaxFolder))
	}
	node, taken := folderNode{}, map[string]bool{}
	node.Data.Slash.Bytes = unixfsDirectory
	for _, p := range pins {
		id, err := cid.Decode(p.CID)
		if kind := id.Prefix().Codec; err != nil || kind != cid.Raw && kind != cid.DagProtobuf {
			return nil, badFolder(p.CID + " is neither a file nor a folder: leave it out")
		}
		node.Links = append(node.Links, folderLink{Hash: jsonLink{id.String()}, Name: entryName(&p, taken), Tsize: p.Size})
	}
	slices.SortFunc(node.Links, func(a, b folderLink) int { return strings.Compare(a.Name, b.Name) })
	return json.Marshal(node)
}

// entryName is a pin's name as an entry, one that no other entry has.
func entryName(p *nodegate.Pin, taken map[string]bool) string {
	name := strings.ReplaceAll(p.Name, "/", "-")
	if strings.Trim(name, ". ") == "" {
		name = p.CID
	}
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = numbered(name, n)
	}
	taken[unique] = true
	return unique
}

// numbered puts a number before the ending of a file's name.
func numbered(name string, n int) string {
	at := strings.LastIndexByte(name, '.')
	if at <= 0 {
		at = len(name)
	}
	return fmt.Sprintf("%s (%d)%s", name[:at], n, name[at:])
}

func badFolder(msg string) error {
	return &nodegate.Error{Op: "files.folder", Code: nodegate.InvalidInput, Msg: msg}
}
