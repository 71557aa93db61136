package unixfs

import (
	"bytes"
	"os"
	"strings"
	"time"

	chunk "github.com/ipfs/boxo/chunker"
	"github.com/ipfs/go-cid"
	"github.com/ipfs/go-cidutil/cidenc"
	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multihash"
)

// Options are what a client of add can ask for. ParseAdd makes them; the zero value
// is not useful.
type Options struct {
	Chunker  string
	Trickle  bool
	OnlyHash bool
	Pin      bool
	PinName  string
	NamePins bool // each by the name of its file; beyond Kubo
	Wrap     bool
	Progress bool
	Silent   bool
	Limits   Limits

	// Expect is the CID that the only, or last, root must have, or undefined.
	Expect cid.Cid

	scheme        scheme
	rawLeaves     bool
	chunkSize     int // of a chunker that cuts by size; 0 for others
	fileLinks     int
	dirLinks      int
	fanout        int
	emptyDirs     bool
	preserveMode  bool
	preserveMtime bool
	stat          stat
	encoder       Encoder
}

// How Kubo builds trees unless it is told otherwise.
const (
	DefaultChunk     = 256 << 10
	defaultFileLinks = 174
	defaultFanout    = 256
	shardSize        = 256 << 10 // a directory whose names and CIDs take more is sharded
	largestFileLinks = 8192
)

// ParseAdd reads the options of add. A value that can't be read is InvalidInput, one
// that can't be done is ExecutionFailed, both in Kubo's words.
func ParseAdd(q *Query, limits Limits) (*Options, error) {
	o := &Options{Limits: limits, fileLinks: defaultFileLinks, fanout: defaultFanout}
	o.Progress = q.Flag("progress", "p")
	o.Trickle = q.Flag("trickle", "t")
	o.Wrap = q.Flag("wrap-with-directory", "w")
	o.OnlyHash = q.Flag("only-hash", "n")
	o.Silent = q.Flag("silent")
	o.Pin, _ = q.Bool(true, "pin")
	o.emptyDirs, _ = q.Bool(true, "empty-dirs", "E")
	o.Chunker, _ = q.String("", "chunker", "s")
	for _, ignored := range []string{"quiet", "quieter", "fscache", "stream-channels"} {
		q.Flag(ignored)
	}
	naming := readNaming(q)
	metadata := o.readMetadata(q)
	pinName, pinNamed := q.String("", "pin-name")
	o.NamePins = q.Flag("name-pins")
	_, toFiles := q.String("", "to-files")
	noCopy := q.Flag("nocopy")
	o.readLinks(q)
	expect, _ := q.String("", "expect-cid")
	o.encoder = ParseEncoder(q)
	if q.Err() != nil {
		return nil, q.Err()
	}
	if err := o.checkPin(pinName, pinNamed); err != nil {
		return nil, err
	}
	if metadata {
		if naming.rawGiven && naming.raw {
			return nil, failed("raw-leaves can't be used with UnixFS metadata like mode or modification time")
		}
		naming.rawGiven, naming.raw = true, false
	}
	switch {
	case toFiles && o.OnlyHash:
		return nil, failed("only-hash and to-files options are not compatible")
	case toFiles && o.Wrap:
		return nil, failed("wrap-with-directory and to-files options are not compatible")
	case toFiles:
		return nil, failed("to-files: there is no Files API here: leave the option out and keep the CID")
	case noCopy:
		return nil, failed("either the filestore or the urlstore must be enabled to use nocopy, see: https://github.com/ipfs/kubo/blob/master/docs/experimental-features.md#ipfs-filestore")
	}
	if err := o.setNaming(naming); err != nil {
		return nil, err
	}
	if err := o.setExpect(expect); err != nil {
		return nil, err
	}
	return o, o.setChunker()
}

// naming is what a client says about CIDs.
type naming struct {
	version       int // -1 when it is not given
	hash          string
	raw, rawGiven bool
	inline        bool
	inlineLimit   int
}

func readNaming(q *Query) (n naming) {
	n.version, _ = q.Int(-1, "cid-version")
	n.hash, _ = q.String("", "hash")
	n.raw, n.rawGiven = q.Bool(false, "raw-leaves")
	n.inline = q.Flag("inline")
	n.inlineLimit, _ = q.Int(32, "inline-limit")
	return n
}

// readMetadata reads what is kept of modes and times, and tells whether anything is.
func (o *Options) readMetadata(q *Query) bool {
	o.preserveMode = q.Flag("preserve-mode")
	o.preserveMtime = q.Flag("preserve-mtime")
	mode := q.Uint("mode")
	mtime, _ := q.Int64(0, "mtime")
	nanos := q.Uint("mtime-nsecs")
	if mtime == 0 && nanos != 0 && q.err == nil {
		q.err = failed("option %q requires %q to be provided as well", "mtime-nsecs", "mtime")
	}
	if nanos > 999_999_999 && q.err == nil {
		q.err = failed("mtime nanoseconds must be in range [1, 999999999]")
	}
	wanted := o.preserveMode || o.preserveMtime || mode != 0 || mtime != 0
	if mode != 0 {
		o.stat.mode, o.preserveMode = os.FileMode(mode), false
	}
	if mtime != 0 {
		o.stat.mtime, o.preserveMtime = time.Unix(mtime, int64(nanos)), false
	}
	return wanted
}

// readLinks reads Kubo's experimental bounds on how wide nodes grow.
func (o *Options) readLinks(q *Query) {
	if n, given := q.Int(0, "max-file-links"); given && n > 0 {
		o.fileLinks = n
		if n < 2 || n > largestFileLinks {
			q.fail("max-file-links must be between 2 and %d", largestFileLinks)
		}
	}
	if n, given := q.Int(0, "max-directory-links"); given {
		o.dirLinks = max(n, 0)
	}
	if n, given := q.Int(0, "max-hamt-fanout"); given && n != 0 {
		o.fanout = n
		if n < 8 || n > 1024 || n&(n-1) != 0 {
			q.fail("HAMT fanout must be a positive power of 2 and multiple of 8: %d", n)
		}
	}
}

func (o *Options) checkPin(name string, named bool) error {
	if len(name) > maxPinName {
		return failed("pin name is %d bytes (max %d bytes)", len(name), maxPinName)
	}
	o.Pin = o.Pin && !o.OnlyHash
	if named && !o.Pin {
		return failed("pin-name option requires pin to be set")
	}
	o.PinName = name
	return nil
}

// setNaming decides how blocks are named: another hash function than sha2-256 means
// CIDv1, and CIDv1 means raw leaves, unless the client says otherwise.
func (o *Options) setNaming(n naming) error {
	o.scheme.inline = -1
	if n.inline {
		if n.inlineLimit > maxInline {
			return failed("inline-limit %d exceeds maximum allowed size of %d bytes", n.inlineLimit, maxInline)
		}
		o.scheme.inline = n.inlineLimit
	}
	name := strings.ToLower(n.hash)
	if name == "" {
		name = "sha2-256"
	}
	code, ok := multihash.Names[name]
	if !ok {
		return failed("unrecognized hash function: %q", name)
	}
	o.scheme.hash = code
	if code != multihash.SHA2_256 {
		if n.version == 0 {
			return failed("CIDv0 only supports sha2-256")
		}
		if n.version < 0 {
			n.version = 1
		}
	}
	if n.version > 1 {
		return failed("unknown CID version: %d", n.version)
	}
	o.scheme.version = uint64(max(n.version, 0))
	o.rawLeaves = n.raw
	if o.scheme.version > 0 && !n.rawGiven {
		o.rawLeaves = true
	}
	_, err := scheme{version: 1, hash: code, inline: -1}.sum(cid.Raw, nil) // an unusable function is told now
	return err
}

func (o *Options) setExpect(text string) error {
	if text == "" {
		return nil
	}
	c, err := cid.Decode(text)
	if err != nil {
		return failed("expect-cid: invalid cid: %s", strings.TrimPrefix(err.Error(), "invalid cid: "))
	}
	o.Expect = c
	return nil
}

// setChunker checks the chunker with boxo's parser, which has Kubo's words.
func (o *Options) setChunker() error {
	if o.Chunker == "" || o.Chunker == "default" {
		o.chunkSize = DefaultChunk
		return nil
	}
	if _, err := chunk.FromString(bytes.NewReader(nil), o.Chunker); err != nil {
		return failedBy(err)
	}
	if text, ok := strings.CutPrefix(o.Chunker, "size-"); ok {
		o.chunkSize = atoi(text)
		return nil
	}
	return checkRabin(o.Chunker)
}

// atoi reads digits that were checked before.
func atoi(text string) int {
	n := 0
	for _, d := range strings.TrimPrefix(text, "+") {
		n = n*10 + int(d-'0')
	}
	return n
}

// checkRabin refuses averages with which boxo's chunker does not work.
func checkRabin(chunker string) error {
	avg, ok := strings.CutPrefix(chunker, "rabin-")
	if !ok || strings.Contains(avg, "-") {
		return nil
	}
	if strings.HasPrefix(avg, "-") || atoi(avg) < 48 {
		return failed("rabin min must be greater than 16")
	}
	return nil
}

// readEncoder reads how CIDs are written in answers.
func readEncoder(q *Query) cidenc.Encoder {
	enc := cidenc.Default()
	base, given := q.String("", "cid-base")
	upgrade, upgradeGiven := q.Bool(false, "upgrade-cidv0-in-output")
	if given && base != "" {
		b, err := multibase.EncoderByName(base)
		if err != nil {
			if q.err == nil {
				q.err = failedBy(err)
			}
			return enc
		}
		enc.Base, enc.Upgrade = b, true
	}
	if upgradeGiven {
		enc.Upgrade = upgrade
	}
	return enc
}

// Encoder writes CIDs in the form that a client asked for with cid-base.
type Encoder struct{ enc cidenc.Encoder }

// ParseEncoder reads cid-base and upgrade-cidv0-in-output.
func ParseEncoder(q *Query) Encoder { return Encoder{readEncoder(q)} }

// Encode is a CID's text.
func (e Encoder) Encode(c cid.Cid) string {
	if c.Version() == 0 && !e.enc.Upgrade {
		return textOf(c) // whatever the base is
	}
	return e.enc.Encode(c)
}

// Like writes CIDs as a path writes its own: in its base, or as before where there is none.
func (e Encoder) Like(path string) Encoder {
	enc, err := cidEncoderOf(path)
	if err != nil {
		return e
	}
	return Encoder{enc}
}

// cidEncoderOf finds the CID in CID/..., /ipfs/CID/... or ipfs://CID/....
func cidEncoderOf(path string) (cidenc.Encoder, error) {
	if _, after, ok := strings.Cut(path, "://"); ok {
		path = after
	}
	names := strings.SplitN(path, "/", 4)
	text := names[0]
	if text == "" && len(names) > 2 {
		text = names[2]
	}
	c, err := cid.Decode(text)
	if err != nil || c.Version() == 0 {
		return cidenc.Default(), err
	}
	base, err := multibase.NewEncoder(multibase.Encoding(text[0]))
	return cidenc.Encoder{Base: base, Upgrade: true}, err
}
