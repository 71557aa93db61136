package nodegate

import "time"

// Pin keeps content for an account: the block of a CID, and with Recursive all
// that can be reached from it.
type Pin struct {
	AccountID string
	CID       string // as the client wrote it, in its canonical text form
	Name      string
	Recursive bool
	Size      int64 // bytes of the whole content; what the account pays for
	Created   time.Time

	// Unpinned is when the pin was taken off, or zero. For a while that can be
	// undone; until then the content stays and counts.
	Unpinned time.Time
}
