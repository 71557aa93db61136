package clients_test

import (
	"path/filepath"
	"strings"
)

// plainCID is what Kubo gives for "hello" without a line's end.
const plainCID = "QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX"

// missingCID is of content that is nowhere.
const missingCID = "QmPBRcT6Qs9vLAyoMR5TQrpTrCyLzmkdUUumFzsrMULUGJ"

// large takes several blocks.
var large = strings.Repeat("0123456789abcdef", 1<<16)

func kuboFiles(i *ipfs) {
	i.write("hello.txt", "hello")
	i.want("added "+plainCID+" hello.txt", "add", "hello.txt")
	i.want(plainCID, "add", "-q", "hello.txt")
	i.want("hello", "cat", plainCID)
	cid := strings.TrimSpace(i.feed(large, "add", "-Q"))
	if i.run("cat", cid) != large {
		i.Error("cat returns something else than was added")
	}
	i.want(large[300_000:300_010], "cat", "--offset", "300000", "--length", "10", cid)
	i.run("get", "-o", "copy", cid)
	i.wrote("copy", large)
	if v1 := i.run("add", "-Q", "--cid-version=1", "hello.txt"); !strings.HasPrefix(v1, "bafkrei") {
		i.Errorf("CIDv1 is %s", v1)
	}
	i.want(plainCID, "add", "-Q", "--only-hash", "hello.txt")
}

// kuboStates are the commands that tell about content without reading all of it.
func kuboStates(i *ipfs) {
	i.write("tree/a.txt", "hello")
	root := strings.TrimSpace(i.run("add", "-r", "-Q", "tree"))
	i.want(root, "files", "stat", "--hash", "/ipfs/"+root)
	i.want(plainCID, "refs", root)
	i.want("/ipfs/"+plainCID, "resolve", "/ipfs/"+root+"/a.txt")
	i.run("dag", "stat", root)
	i.run("pin", "verify")
	i.run("repo", "stat")
	i.run("id")
	i.write("other/b.txt", "other")
	other := i.run("add", "-r", "-Q", "other")
	if diff := i.run("object", "diff", other, root); !strings.Contains(diff, "+ "+plainCID+" \"a.txt\"") {
		i.Errorf("object diff prints %q", diff)
	}
}

func kuboDirectories(i *ipfs) {
	i.write("tree/a.txt", "a")
	i.write("tree/sub/b c.txt", large)
	lines := strings.Split(i.run("add", "-r", "tree"), "\n")
	root := strings.Fields(lines[len(lines)-1])[1]
	if len(lines) != 4 || !strings.HasSuffix(lines[3], " tree") {
		i.Errorf("add -r prints %q", lines)
	}
	i.want(root, "add", "-r", "-Q", "tree")
	listed := strings.Split(i.run("ls", root), "\n")
	if len(listed) != 2 || !strings.HasSuffix(listed[0], " 1 a.txt") || !strings.HasSuffix(listed[1], " - sub/") {
		i.Errorf("ls prints %q", listed)
	}
	i.want("a", "cat", root+"/a.txt")
	i.run("get", "-o", "back", root)
	i.wrote("back/a.txt", "a")
	i.wrote("back/sub/b c.txt", large)
	i.run("get", "-a", "-C", "-o", "back.tar.gz", root)
	wrapped := i.run("add", "-Q", "-w", "tree/a.txt")
	i.want("a", "cat", wrapped+"/a.txt")
}

func kuboPins(i *ipfs) {
	first := strings.TrimSpace(i.feed("first", "add", "-Q", "--pin-name", "one"))
	second := strings.TrimSpace(i.feed("second", "add", "-Q", "--pin=false"))
	i.want(first+" recursive", "pin", "ls", "--type=recursive")
	i.want(first+" recursive one", "pin", "ls", "--names", "--type=recursive")
	i.want("pinned "+second+" recursively", "pin", "add", second)
	i.want(second+" recursive", "pin", "ls", second)
	i.want("unpinned "+second, "pin", "rm", second)
	i.refused("not pinned", "pin", "rm", second)
	i.want("updated "+first+" to "+second, "pin", "update", first, second)
	i.want(second, "pin", "ls", "-q", "--type=recursive")
	i.refused("is not pinned", "pin", "ls", first)
}

func kuboBlocks(i *ipfs) {
	block := strings.TrimSpace(i.feed("a block", "block", "put"))
	i.want("a block", "block", "get", block)
	i.want("Key: "+block+"\nSize: 7", "block", "stat", block)
}

func kuboValues(i *ipfs) {
	value := strings.TrimSpace(i.feed(`{"a":[1,2,{"b":"c"}]}`, "dag", "put"))
	i.want(`{"a":[1,2,{"b":"c"}]}`, "dag", "get", value)
	i.want(`{"b":"c"}`, "dag", "get", value+"/a/2")
	i.want(value, "dag", "resolve", value)
}

func kuboArchives(i *ipfs) {
	cid := strings.TrimSpace(i.feed(large, "add", "-Q", "--pin=false"))
	i.write("large.car", i.feed("", "dag", "export", cid))
	imported := i.run("dag", "import", "large.car")
	if !strings.Contains(imported, "Pinned root\t"+cid+"\tsuccess") {
		i.Errorf("dag import prints %q", imported)
	}
	i.want(cid+" recursive", "pin", "ls", "--type=recursive", cid)
}

// kuboTLS reaches the same listener by HTTPS.
func kuboTLS(i *ipfs) {
	i.api = strings.Replace(i.api, "/ip4/127.0.0.1/", "/dns4/localhost/", 1) + "/https"
	i.write("hello.txt", "hello")
	i.want(plainCID, "add", "-Q", "hello.txt")
	i.want("hello", "cat", plainCID)
	i.env = append(i.env, "SSL_CERT_FILE="+filepath.Join(i.dir, "hello.txt"))
	i.refused("x509", "cat", plainCID)
}

func kuboErrors(i *ipfs) {
	i.refused("block was not found locally", "cat", missingCID)
	i.refused("could not find", "pin", "add", missingCID)
	i.write("d/x", "x")
	i.refused("this dag node is a directory", "cat", i.run("add", "-r", "-Q", "d"))
	i.refused("invalid path", "cat", "no-cid")
	i.refused("there is no mutable file system", "files", "ls")
	i.auth = "basic:no:body"
	i.refused("basic auth failure: invalid API key or API key secret", "add", "d/x")
	i.auth = ""
	i.refused("API key required", "add", "d/x")
}
