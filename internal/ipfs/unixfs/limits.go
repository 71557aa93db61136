package unixfs

// What input may ask for. Everything beyond is refused with an error that says so.
const (
	// MaxBlock is the size of the largest block, as in Kubo: more can't be exchanged.
	MaxBlock = 2 << 20
	// maxDepth is how deep blocks, and values inside a block, may be nested.
	maxDepth = 1024
	// maxPathBytes is how much the blocks between a root and a leaf may hold together.
	maxPathBytes = 32 << 20
	// maxLinks is how many links one block may have.
	maxLinks = 1 << 17
	// maxPending is how many links may wait for their turn in a walk.
	maxPending = 1 << 20
	// maxName is how long the name of an uploaded file may be, folders included.
	maxName = 1024
	// maxFolderDepth is how deep uploaded folders may be nested.
	maxFolderDepth = 64
	// maxInline is the longest content of an identity CID.
	maxInline = 128
	// maxPinName is how long the name of a pin may be.
	maxPinName = 255
	// maxSegments is how many names a path may have.
	maxSegments = 1024
	// maxEntries is how many entries of one directory are listed.
	maxEntries = 1 << 20
	// maxRoots is how many roots a CAR may name.
	maxRoots = 1024
	// maxCARHeader is how long the header of a CAR may be.
	maxCARHeader = 1 << 20
)

// Limits are what an operator may set for one upload. Zero values mean the defaults.
type Limits struct {
	Parts     int   // files and directories in one request; default 10,000
	FileBytes int64 // the largest file; default: no limit but the quota
	Blocks    int   // blocks of one upload or one walk; default 4 Mi
}

// ReadLimits are what an operator may set for one request that reads. Zero values mean
// the defaults.
type ReadLimits struct {
	Nodes int   // blocks that one listing reads; default 262,144
	Bytes int64 // content that one request reads; default 1 TiB
}

const (
	defaultParts  = 10_000
	defaultBlocks = 4 << 20
	defaultNodes  = 1 << 18
	defaultRead   = 1 << 40
)

func (l Limits) parts() int {
	if l.Parts > 0 {
		return l.Parts
	}
	return defaultParts
}

func (l Limits) blocks() int {
	if l.Blocks > 0 {
		return l.Blocks
	}
	return defaultBlocks
}

func (l ReadLimits) nodes() int {
	if l.Nodes > 0 {
		return l.Nodes
	}
	return defaultNodes
}

func (l ReadLimits) bytes() int64 {
	if l.Bytes > 0 {
		return l.Bytes
	}
	return defaultRead
}

// Check refuses to read more content than a request may. A few blocks that link to
// each other again and again are a file of any size.
func (l ReadLimits) Check(bytes int64) error {
	if most := l.bytes(); bytes > most {
		return tooLarge("%d bytes are more than one request may read: at most %d (storage.max_read). Ask for a part of the file", bytes, most)
	}
	return nil
}

// errNodes is the error of a listing that reads too many blocks.
func errNodes(most int) error {
	return tooLarge("the listing needs more than %d blocks (storage.max_nodes). List a smaller part, or use dag/export", most)
}
