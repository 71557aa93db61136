package server

import (
	"context"
	"errors"
	"strings"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// content is the stored content of a migration.
type content struct {
	m       *migration
	blocks  *blockstore.Store // of the source, where its content moves; else nil
	inStore bool              // pins are rows of the account store
	pins    int64             // that were moved, in this run or an earlier one
	bytes   int64             // of the content that they keep
	notes   []string
}

// open decides what happens to content, and refuses where there is no place for it.
func (c *content) open(ctx context.Context, m *migration) (err error) {
	c.m = m
	switch {
	case m.from.Storage.Engine == "kubo":
		c.inStore = true
		return c.checkNodes()
	case m.from.Storage.Engine == "off" || !has(m.from.Data, "storage"):
		return nil
	case m.to.Storage.Engine == "embedded" && sameFolder(m.from.Data, m.to.Data):
		c.notes = append(c.notes, "stored content and pins stay in "+m.from.Data+", which the new configuration uses too")
		return nil
	}
	if c.blocks, err = OpenBlocks(ctx, m.from, m.log); err != nil {
		return err
	}
	if err := c.checkPlace(ctx); err != nil {
		return errors.Join(err, c.close())
	}
	return nil
}

// checkNodes makes sure that content on Kubo nodes is still reached.
func (c *content) checkNodes() error {
	if err := c.count(context.Background()); err != nil || c.pins == 0 {
		return err
	}
	if c.m.to.Storage.Engine != "kubo" {
		return cantMigrate("accounts have content on Kubo nodes, and storage.engine is " + c.m.to.Storage.Engine + " in the configuration to move to: set it to kubo with the same endpoints")
	}
	known := map[string]bool{}
	for _, e := range c.m.to.Storage.Kubo.Endpoints {
		known[strings.TrimSuffix(e.URL, "/")] = true
	}
	for _, e := range c.m.from.Storage.Kubo.Endpoints {
		if !known[strings.TrimSuffix(e.URL, "/")] {
			return cantMigrate("accounts have content on a Kubo node that the configuration to move to doesn't name: give it the same endpoints")
		}
	}
	c.notes = append(c.notes, "stored content stays on its Kubo nodes")
	return nil
}

// checkPlace refuses content that has no place in the new configuration.
func (c *content) checkPlace(ctx context.Context) error {
	if c.m.to.Storage.Engine == "kubo" {
		c.notes = append(c.notes, "uploads without a pin, pins that were taken off and can be undone, and large uploads that are still arriving are not moved")
		return nil
	}
	if err := c.count(ctx); err != nil || c.pins == 0 {
		return err
	}
	if c.m.to.Storage.Engine == "off" {
		return cantMigrate("accounts have pinned content, and storage.engine is off in the configuration to move to: set it to kubo with endpoints, or to embedded with data: " + c.m.from.Data)
	}
	return cantMigrate("accounts have pinned content in " + c.m.from.Data + ", and the configuration to move to keeps content in " + c.m.to.Data +
		": use the same folder as data, set storage.engine to kubo with endpoints, or restore a backup of the source into that folder and move from there")
}

// count says how many pins there are, and how large they are.
func (c *content) count(ctx context.Context) error {
	if c.blocks == nil && !c.inStore {
		return nil
	}
	c.pins, c.bytes = 0, 0
	err := c.each(ctx, func(p nodegate.Pin) error {
		c.pins++
		c.bytes += p.Size
		return nil
	})
	if c.inStore { // they are rows, and their content doesn't move
		c.bytes = 0
	}
	return err
}

// each hands out the pins of all accounts of the source.
func (c *content) each(ctx context.Context, do func(nodegate.Pin) error) error {
	return c.accounts(ctx, func(id string) error {
		list, err := c.pinsOf(ctx, id)
		for i := 0; i < len(list) && err == nil; i++ {
			err = do(list[i])
		}
		return err
	})
}

// accountPage is how many accounts are read at once.
const accountPage = 1000

func (c *content) accounts(ctx context.Context, do func(id string) error) error {
	for after := ""; ; {
		list, err := c.m.source.Store.Accounts(ctx, after, accountPage)
		if err != nil {
			return err
		}
		for _, a := range list {
			if err := do(a.ID); err != nil {
				return err
			}
			after = a.ID
		}
		if len(list) < accountPage {
			return nil
		}
	}
}

// pinsOf lists an account's pins in the source.
func (c *content) pinsOf(ctx context.Context, accountID string) (list []nodegate.Pin, err error) {
	each := func(p nodegate.Pin) bool {
		list = append(list, p)
		return true
	}
	if c.blocks != nil {
		return list, c.blocks.Pins(ctx, accountID, each)
	}
	for after := ""; ; {
		some, err := c.m.source.Store.PinsOf(ctx, nodegate.PinQuery{AccountID: accountID, After: after, Limit: accountPage})
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
		if len(some) < accountPage {
			return list, nil
		}
		after = some[len(some)-1].CID
	}
}

// move brings all pinned content to the nodes, account by account. Pins that are there are
// from an earlier run, and are left as they are.
func (c *content) move(ctx context.Context, pins nodegate.PinStore) (err error) {
	if c.blocks == nil {
		return nil
	}
	engine := openKubo(c.m.to, pins, c.m.log)
	defer func() { err = errors.Join(err, engine.Close()) }()
	c.pins, c.bytes = 0, 0
	return c.accounts(ctx, func(id string) error { return c.moveAccount(ctx, engine, id) })
}

func (c *content) moveAccount(ctx context.Context, to *kubo.Engine, accountID string) error {
	list, err := c.pinsOf(ctx, accountID)
	if err != nil {
		return err
	}
	gone := map[string]nodegate.Pin{} // in the destination, and no longer in the source
	if err := to.Pins(ctx, accountID, func(p nodegate.Pin) bool { gone[p.CID] = p; return true }); err != nil {
		return err
	}
	for i := range list {
		p := &list[i]
		c.pins++
		c.bytes += p.Size
		old, there := gone[p.CID]
		delete(gone, p.CID)
		switch {
		case !there:
			err = c.movePin(ctx, to, p)
		case old.Name != p.Name:
			err = to.Rename(ctx, accountID, p.CID, p.Name)
		}
		if err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	b := to.Begin(accountID, 0)
	defer b.Abort()
	for cid := range gone {
		b.Unpin(cid)
	}
	return b.Commit(ctx)
}

// movePin copies the blocks of one pin and makes the pin.
func (c *content) movePin(ctx context.Context, to *kubo.Engine, p *nodegate.Pin) error {
	root, err := cid.Decode(p.CID)
	if err != nil {
		return &nodegate.Error{Op: "server.migrate", Code: nodegate.Damaged, Msg: "the pin " + p.CID + " can't be read", Err: err}
	}
	b := relay{to.Begin(p.AccountID, 0), c.blocks}
	defer b.Abort()
	if p.Recursive {
		_, err = unixfs.New(stored{c.blocks}).Walk(ctx, b, root, unixfs.Limits{}, func(unixfs.Walked) {})
	} else {
		_, err = b.Get(ctx, root)
	}
	if err != nil {
		return &nodegate.Error{Op: "server.migrate", Code: nodegate.AsError(err).Code, Msg: "can't move the content of the pin " + p.CID + ": " + nodegate.AsError(err).Msg, Err: err}
	}
	b.Pin(*p)
	return b.Commit(ctx)
}

// relay reads from one store and puts what it read into a batch of another.
type relay struct {
	*kubo.Batch
	from *blockstore.Store
}

// Get reads a block, and takes it along.
func (r relay) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	data, err := r.from.Get(ctx, c)
	if err == nil {
		err = r.Put(ctx, c, data)
	}
	return data, err
}

func (c *content) close() error {
	if c.blocks == nil {
		return nil
	}
	return c.blocks.Close()
}
