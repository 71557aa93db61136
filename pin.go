package nodegate

import "time"

// Pin keeps content for an account: the block of a CID, and with Recursive all
// that can be reached from it.
type Pin struct {
	AccountID string
	CID       string // as the client wrote it, in its canonical text form
	Name      string
	Recursive bool
	Size      int64 // what the account pays for: bytes of the whole content, or the least that it costs
	Created   time.Time

	// Unpinned is when the pin was taken off, or zero. For a while that can be
	// undone; until then the content stays and counts.
	Unpinned time.Time
}

// What blocks and pins count toward an account's quota at least, in bytes: each of them takes
// an entry in an index, whatever its content.
const (
	MinBlockCharge = 256
	MinPinCharge   = 512
)

// BlockCharge is what a block counts toward the quota. Content that its CID holds itself is in
// no block.
func BlockCharge(size int) int64 { return max(int64(size), MinBlockCharge) }

// Charged is a new pin with a size that is the least it costs, or more.
func (p Pin) Charged() Pin {
	p.Size = max(p.Size, MinPinCharge)
	return p
}
