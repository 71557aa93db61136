package ws

// The bounds of fragments. A head costs its peer six bytes and the server as much work as a
// small read, so a message of megabytes in fragments of one byte would cost as much as
// thousands of calls. Browsers send one frame, libraries a few: the smallest buffers that they
// cut messages by have about 1 KiB.
const (
	mostFragments  = 1024    // of a message, beside
	fragmentBytes  = 1 << 10 // one for so many bytes of it
	tinyFragment   = 64      // bytes
	tinyPerControl = 16      // so many tiny ones count as a ping

	saysFragments = "too many fragments: send at most 1,024 and one per KiB of a message"
)

// nextFragment waits for the next frame of the message, of which some bytes have come.
//
// Returns errFragments when it has too many of them, and errProtocol for a frame of another
// message.
func (c *Conn) nextFragment(got int) error {
	if err := c.nextData(); err != nil {
		return err
	}
	if c.frame.op != opContinue {
		return errProtocol
	}
	if c.fragments++; c.fragments > mostFragments+got/fragmentBytes {
		return errFragments
	}
	if c.frame.left >= tinyFragment || c.frame.fin {
		return nil
	}
	if c.tiny++; c.tiny%tinyPerControl == 0 && c.Controlled != nil {
		c.Controlled()
	}
	return nil
}
