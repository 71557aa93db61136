package server

import (
	"context"
	"errors"
	"io"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/backup"
	"github.com/nodegate/nodegate/internal/rpc/chain"
)

// copyTries is how often a network is copied at most: one that is set back meanwhile has to
// be copied again.
const copyTries = 3

func (m *backupMaker) network(ctx context.Context, name string) (err error) {
	for range copyTries {
		if err = m.copyNetwork(ctx, name); !errors.Is(err, nodegate.Damaged) && !errors.Is(err, nodegate.Busy) {
			return err
		}
		m.w.Drop(networkPath(name, ""))
	}
	return err
}

func networkPath(network, name string) string { return "networks/" + network + "/" + name }

// kindPairs is the kind of a file with the content of a chain's database.
const kindPairs = "chain-pairs"

// copyNetwork adds what the server sends.
func (m *backupMaker) copyNetwork(ctx context.Context, network string) error {
	body, err := m.running.Network(ctx, network)
	if err != nil {
		return err
	}
	defer body.Close()
	parts := &networkParts{r: chain.NewCopyReader(body)}
	for parts.open() {
		f := backup.File{Name: networkPath(network, parts.name)}
		if parts.name == chain.KeyValues {
			f.Kind = kindPairs
		}
		if err := m.w.Add(ctx, f, parts.next); err != nil {
			return err
		}
	}
	return parts.failure()
}

// networkParts makes files of the pieces of a copy.
type networkParts struct {
	r     *chain.CopyReader
	name  string // of the file that is read
	of    string // the name that piece belongs to
	piece []byte
	ahead bool // piece was read and not used
	err   error
}

// peek reads a piece, unless there is one.
func (p *networkParts) peek() bool {
	if !p.ahead && p.err == nil {
		p.of, p.piece, p.err = p.r.Next()
		p.ahead = p.err == nil
	}
	return p.ahead
}

// open goes to the next file.
func (p *networkParts) open() bool {
	more := p.peek()
	p.name = p.of
	return more
}

// next is the next piece of the open file.
func (p *networkParts) next() ([]byte, error) {
	if !p.peek() {
		return nil, p.err
	}
	if p.of != p.name {
		return nil, io.EOF
	}
	p.ahead = false
	return p.piece, nil
}

// failure is why there are no more pieces, or nil at the end of the copy.
func (p *networkParts) failure() error {
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}
