package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// fileStatAnswer is the answer of files/stat, with its fields in Kubo's order.
type fileStatAnswer struct {
	Hash           string
	Size           uint64
	CumulativeSize uint64
	Blocks         int
	Type           string
	WithLocality   bool   `json:",omitempty"`
	Local          bool   `json:",omitempty"`
	SizeLocal      uint64 `json:",omitempty"`
	Mtime          int64  `json:",omitempty"`
	MtimeNsecs     int    `json:",omitempty"`
	Mode           string `json:",omitempty"`
}

// fileStat describes a file or a directory below /ipfs. There is no mutable file system.
func fileStat(ctx context.Context, c *call) error {
	withLocal := c.query.Flag("with-local")
	if err := checkStatForm(c); err != nil {
		return err
	}
	encoder := unixfs.ParseEncoder(c.query)
	if err := c.query.Err(); err != nil {
		return err
	}
	if !isContentPath(c.args[0]) {
		return errMFS(c.args[0])
	}
	s, err := c.gateway.objects.FileStat(ctx, c.args[0])
	if err != nil {
		return err
	}
	answer := describeFile(s, encoder)
	if withLocal {
		answer.WithLocality = true
		if answer.Local, answer.SizeLocal, err = s.Local(ctx, c.gateway.cfg.Limits); err != nil {
			return err
		}
	}
	return c.answer.object(answer)
}

// checkStatForm refuses several forms of output, which only Kubo's command line shows.
func checkStatForm(c *call) error {
	forms := 0
	for _, given := range []bool{c.query.Flag("hash"), c.query.Flag("size"), givenText(c, "format")} {
		if given {
			forms++
		}
	}
	if forms > 1 {
		return usageError("invalid parameters: format was set by multiple options. Only one format option is allowed")
	}
	return nil
}

// statForm is the form that Kubo's command line sends when a user names none.
const statForm = "<hash>\nSize: <size>\nCumulativeSize: <cumulsize>\nChildBlocks: <childs>\nType: <type>\nMode: <mode> (<mode-octal>)\nMtime: <mtime>"

func givenText(c *call, name string) bool {
	text, given := c.query.String("", name)
	return given && text != statForm
}

func describeFile(s *unixfs.FileStat, encoder unixfs.Encoder) fileStatAnswer {
	a := fileStatAnswer{Hash: encoder.Encode(s.CID), Size: s.Size, CumulativeSize: s.Cumulative, Blocks: s.Children, Type: "file"}
	if s.Directory {
		a.Type = "directory"
	}
	if s.Mode != 0 {
		a.Mode = fmt.Sprintf("%04o", uint32(s.Mode))
	}
	if !s.ModTime.IsZero() {
		a.Mtime, a.MtimeNsecs = s.ModTime.Unix(), s.ModTime.Nanosecond()
	}
	return a
}

// isContentPath tells a path or an address of content from one of the mutable file system.
func isContentPath(text string) bool {
	return strings.HasPrefix(text, "/ipfs/") || strings.HasPrefix(text, "/ipld/") || strings.Contains(text, "://")
}

// errMFS refuses a path of the mutable file system, or what is none.
func errMFS(text string) error {
	switch {
	case text == "":
		return failed("paths must not be empty")
	case !strings.HasPrefix(text, "/"):
		return failed("paths must start with a leading slash")
	}
	return failed(noMFS)
}
