package gateway

import (
	"slices"
	"strings"

	"github.com/nodegate/nodegate"
)

// What to use instead of commands that need more than content: a mutable file system, or
// names that change.
const (
	noMFS = "there is no mutable file system (MFS) here: build directories with add and wrap-with-directory=true, " +
		"keep them with pin/add, and read them by their CID with files/stat, ls and cat"
	noNames = "names (IPNS) are not published or resolved here: use the CID, and keep your own pointer to the newest one, such as a DNSLink record or a contract"
	noKeys  = "there are no IPNS keys here because names are not published: use CIDs"
	noPatch = "object/patch is deprecated and not available here: add the changed directory with add and wrap-with-directory=true, or put its node with dag/put and store-codec=dag-pb"
	noLocal = "blocks of all accounts are in one store and are not listed: use pin/ls for your own content, and refs with recursive=true for the blocks below a CID"
	noRm    = "blocks of all accounts are in one store and are not removed one by one: remove your pins with pin/rm, and what no pin keeps is deleted after the undo period"
	noGC    = "garbage is collected by itself: remove pins with pin/rm, and what no pin keeps is deleted after the undo period"
)

// instead tells what to use in place of a command that Kubo has.
func instead(name string) string {
	group, rest, _ := strings.Cut(name, "/")
	switch group {
	case "files":
		return noMFS
	case "name":
		return noNames
	case "key":
		return noKeys
	}
	switch name {
	case "object/patch/add-link", "object/patch/rm-link":
		return noPatch
	case "refs/local", "repo/ls":
		return noLocal
	case "block/rm":
		return noRm
	case "repo/gc":
		return noGC
	}
	if group == "object" && slices.Contains([]string{"data", "get", "links", "new", "put", "stat", "patch/append-data", "patch/set-data"}, rest) {
		return "removed, use 'ipfs dag' or 'ipfs files' instead"
	}
	return ""
}

// unknownCommand is the answer to a name that is no command here.
func unknownCommand(name string) error {
	if text := instead(name); text != "" {
		return failed(text)
	}
	return &nodegate.Error{Op: "storage", Code: nodegate.UnknownNetwork, Msg: "404 page not found"}
}
