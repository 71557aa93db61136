package unixfs

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"

	"github.com/nodegate/nodegate"
)

// TestOptionsRefused has Kubo's words for every option that can be wrong.
func TestOptionsRefused(t *testing.T) {
	for _, c := range []struct {
		query string
		code  nodegate.Code
		want  string
	}{
		{"cid-version=x", nodegate.InvalidInput, `could not convert value "x" to type "int" (for option "-cid-version")`},
		{"cid-version=", nodegate.InvalidInput, `could not convert empty value to type "int" (for option "-cid-version")`},
		{"pin=maybe", nodegate.InvalidInput, `could not convert value "maybe" to type "bool" (for option "-pin")`},
		{"pin=true&pin=false", nodegate.InvalidInput, `expected key pin to have only a single value, received [true false]`},
		{"mode=rw", nodegate.InvalidInput, `could not convert value "rw" to type "uint" (for option "-mode")`},
		{"mtime=now", nodegate.InvalidInput, `could not convert value "now" to type "int64" (for option "-mtime")`},
		{"w=1&wrap-with-directory=1", nodegate.InvalidInput, `duplicate command options were provided ("wrap-with-directory" and "w")`},
		{"max-file-links=1", nodegate.InvalidInput, "max-file-links must be between 2 and 8192"},
		{"max-hamt-fanout=12", nodegate.InvalidInput, "HAMT fanout must be a positive power of 2 and multiple of 8: 12"},
		{"cid-version=2", nodegate.ExecutionFailed, "unknown CID version: 2"},
		{"cid-version=2&hash=blake3", nodegate.ExecutionFailed, "unknown CID version: 2"},
		{"cid-version=0&hash=blake3", nodegate.ExecutionFailed, "CIDv0 only supports sha2-256"},
		{"hash=md5", nodegate.ExecutionFailed, "potentially insecure hash functions not allowed"},
		{"hash=NOPE", nodegate.ExecutionFailed, `unrecognized hash function: "nope"`},
		{"chunker=zzz", nodegate.ExecutionFailed, "unrecognized chunker option: zzz"},
		{"chunker=size-2096897", nodegate.ExecutionFailed, "chunker parameters may not exceed the maximum chunk size of 2096896"},
		{"chunker=size-0", nodegate.ExecutionFailed, "chunker size must be greater than 0"},
		{"chunker=rabin-16-32", nodegate.ExecutionFailed, "incorrect format (expected 'rabin' 'rabin-[avg]' or 'rabin-[min]-[avg]-[max]'"},
		{"chunker=rabin-10", nodegate.ExecutionFailed, "rabin min must be greater than 16"},
		{"chunker=rabin-%2B0", nodegate.ExecutionFailed, "rabin min must be greater than 16"},
		{"inline=true&inline-limit=129", nodegate.ExecutionFailed, "inline-limit 129 exceeds maximum allowed size of 128 bytes"},
		{"pin=false&pin-name=x", nodegate.ExecutionFailed, "pin-name option requires pin to be set"},
		{"only-hash=true&pin-name=x", nodegate.ExecutionFailed, "pin-name option requires pin to be set"},
		{"pin-name=" + strings.Repeat("n", 256), nodegate.ExecutionFailed, "pin name is 256 bytes (max 255 bytes)"},
		{"raw-leaves=true&mode=0644", nodegate.ExecutionFailed, "raw-leaves can't be used with UnixFS metadata like mode or modification time"},
		{"raw-leaves=true&preserve-mtime=true", nodegate.ExecutionFailed, "raw-leaves can't be used with UnixFS metadata like mode or modification time"},
		{"mtime-nsecs=5", nodegate.ExecutionFailed, `option "mtime-nsecs" requires "mtime" to be provided as well`},
		{"to-files=/", nodegate.ExecutionFailed, "to-files: there is no Files API here: leave the option out and keep the CID"},
		{"to-files=/&only-hash=true", nodegate.ExecutionFailed, "only-hash and to-files options are not compatible"},
		{"to-files=/&wrap-with-directory=true", nodegate.ExecutionFailed, "wrap-with-directory and to-files options are not compatible"},
		{"nocopy=true", nodegate.ExecutionFailed, "either the filestore or the urlstore must be enabled to use nocopy, see: https://github.com/ipfs/kubo/blob/master/docs/experimental-features.md#ipfs-filestore"},
		{"expect-cid=nope", nodegate.ExecutionFailed, "expect-cid: invalid cid: selected encoding not supported"},
		{"cid-base=base999", nodegate.ExecutionFailed, "unsupported multibase encoding: base999"},
	} {
		values, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParseAdd(NewQuery(values), Limits{})
		if !errors.Is(err, c.code) || messageOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.query, err, c.want)
		}
	}
}

func TestOptionsAccepted(t *testing.T) {
	for _, query := range []string{"pin=", "pin", "unknown=1&unknown=2", "quiet=true&quieter=true&stream-channels=true&fscache=true", "recursive=true", "chunker=default", "chunker=rabin-512-1024-2048", "cid-version=0x1", "PIN=x"} {
		if o := optionsOf(t, query); !o.Pin {
			t.Errorf("%s does not pin", query)
		}
	}
	_, out := added(t, "cid-base=base58btc", file("f", "hello"))
	c := out.Roots[0].CID
	if want, _ := cid.NewCidV1(c.Type(), c.Hash()).StringOfBase(multibase.Base58BTC); out.Events[0].Hash != want {
		t.Errorf("hash %s, want %s", out.Events[0].Hash, want)
	}
	_, out = added(t, "cid-base=base32&upgrade-cidv0-in-output=false", file("f", "hello"))
	if out.Events[0].Hash != "QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX" {
		t.Errorf("hash %s", out.Events[0].Hash)
	}
}
