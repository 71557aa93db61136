package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
)

// ClaimPins reserves what a change's new pins need: the quota, and that their
// content stays.
func (s *pinTables) ClaimPins(ctx context.Context, c *nodegate.PinChange) (held []string, err error) {
	if err := checkPinTexts(c); err != nil {
		return nil, err
	}
	err = s.write(ctx, "claimPins", "pin", func(t *tx) error {
		held = nil
		used, err := t.lockPins(c.AccountID)
		if err != nil {
			return err
		}
		claims, total, err := t.claimsOf(c)
		if err != nil {
			return err
		}
		if c.Quota > 0 && total > 0 && used+total > c.Quota {
			return errQuota()
		}
		for _, content := range slices.Sorted(maps.Keys(claims)) {
			before, err := t.holdContent(content, c.At)
			if err != nil {
				return err
			}
			if before {
				held = append(held, content)
			}
			if _, err := t.exec("INSERT INTO pin_claims (id, content, account, bytes, at) VALUES ($1, $2, $3, $4, $5)",
				c.Claim, content, c.AccountID, claims[content], c.At.UnixMicro()); err != nil {
				return err
			}
		}
		return t.setPinned(c.AccountID, used+total)
	})
	return held, err
}

// claimsOf works out which content a change needs, and what it costs beyond what
// the account pays for the same pins already.
func (t *tx) claimsOf(c *nodegate.PinChange) (claims map[string]int64, total int64, err error) {
	claims = map[string]int64{}
	last := map[string]nodegate.PinOp{}
	for _, op := range c.Ops {
		if op.Kind == nodegate.PinAdd {
			claims[op.Content] += 0
			last[op.Pin.CID] = op // the last of several pins of a CID counts
		}
	}
	for cid, op := range last {
		old, err := t.pin(c.AccountID, cid)
		if err != nil {
			return nil, 0, err
		}
		cost := op.Pin.Size
		if old != nil {
			cost -= old.Size
		}
		if cost = max(cost, 0); cost > 0 {
			claims[op.Content] += cost
			total += cost
		}
	}
	return claims, total, nil
}

// holdContent makes sure that content is known and that nobody removes it, and
// tells whether it was known before.
func (t *tx) holdContent(content string, now time.Time) (before bool, err error) {
	for range 3 { // it may be forgotten between the two statements
		n, err := t.exec("INSERT INTO pin_content (content) VALUES ($1) ON CONFLICT DO NOTHING", content)
		if err != nil || n > 0 {
			return false, err
		}
		var removing stamp
		err = t.queryRow("UPDATE pin_content SET content = content WHERE content = $1 RETURNING removing", []any{content}, &removing)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err != nil:
			return false, err
		case !removing.IsZero() && now.Sub(removing.Time) < nodegate.RemovalTime:
			return true, errRemoving()
		case !removing.IsZero(): // whoever did it is gone: what is left of it is unknown
			_, err = t.exec("UPDATE pin_content SET removing = NULL WHERE content = $1", content)
			return false, err
		}
		return true, nil
	}
	return false, errRemoving()
}

// CommitPins makes a change: all of it or nothing.
func (s *pinTables) CommitPins(ctx context.Context, c *nodegate.PinChange) error {
	if err := checkPinTexts(c); err != nil {
		return err
	}
	return s.write(ctx, "commitPins", "pin", func(t *tx) error {
		used, err := t.lockPins(c.AccountID)
		if err != nil {
			return err
		}
		claimed, err := t.endClaim(c)
		if err != nil {
			return err
		}
		next, freed, grows, err := t.changedPins(c)
		if err != nil {
			return err
		}
		after := used - claimed + grows + c.Loose
		if c.Quota > 0 && after > c.Quota && after > used {
			return errQuota()
		}
		for _, p := range next {
			if err := t.savePin(p); err != nil {
				return err
			}
		}
		if c.Loose > 0 {
			if _, err := t.exec("INSERT INTO pin_loose (id, account, bytes, at) VALUES ($1, $2, $3, $4)", c.Claim, c.AccountID, c.Loose, c.At.UnixMicro()); err != nil {
				return err
			}
		}
		for _, content := range freed {
			if err := t.free(content, c.At); err != nil {
				return err
			}
		}
		return t.setPinned(c.AccountID, after)
	})
}

// endClaim takes the change's claim away and returns what it reserved. Without it
// the content of new pins may be gone.
func (t *tx) endClaim(c *nodegate.PinChange) (bytes int64, err error) {
	if !slices.ContainsFunc(c.Ops, func(op nodegate.PinOp) bool { return op.Kind == nodegate.PinAdd }) {
		return 0, nil
	}
	rows, _, err := t.dropClaims("id = $1 AND account = $2", c.Claim, c.AccountID)
	if err != nil {
		return 0, err
	}
	for _, op := range c.Ops {
		_, ok := rows[op.Content]
		if op.Kind == nodegate.PinAdd && !ok {
			return 0, &nodegate.Error{Op: "sqlstore.commitPins", Code: nodegate.Conflict, Msg: "pinning took too long: try again"}
		}
	}
	for _, n := range rows {
		bytes += n
	}
	return bytes, nil
}

// dropClaims deletes claims and returns the bytes of each content.
func (t *tx) dropClaims(where string, args ...any) (claims map[string]int64, total int64, err error) {
	defer t.renew()
	rows, err := t.QueryContext(t.ctx, "DELETE FROM pin_claims WHERE "+where+" RETURNING content, bytes", args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	claims = map[string]int64{}
	for rows.Next() {
		var content string
		var n int64
		if err := rows.Scan(&content, &n); err != nil {
			return nil, 0, err
		}
		claims[content] += n
		total += n
	}
	return claims, total, rows.Err()
}

// changedPins works out the pins after a change, the content that it lets go of, and
// by how much the account pays more.
func (t *tx) changedPins(c *nodegate.PinChange) (next []*pinRow, freed []string, grows int64, err error) {
	at := map[string]int{}
	for _, op := range c.Ops {
		var old *pinRow
		i, again := at[op.Pin.CID]
		if again {
			old = next[i]
		} else if old, err = t.pin(c.AccountID, op.Pin.CID); err != nil {
			return nil, nil, 0, err
		}
		p, err := changedPin(c, op, old)
		if err != nil {
			return nil, nil, 0, err
		}
		grows += p.Size
		if old != nil {
			grows -= old.Size
			if old.content != p.content {
				freed = append(freed, old.content)
			}
		}
		if again {
			next[i] = p
			continue
		}
		at[op.Pin.CID] = len(next)
		next = append(next, p)
	}
	slices.Sort(freed)
	return next, freed, grows, nil
}

// changedPin is what one change makes of a pin.
func changedPin(c *nodegate.PinChange, op nodegate.PinOp, old *pinRow) (*pinRow, error) {
	switch op.Kind {
	case nodegate.PinRemove:
		if old == nil || !old.Unpinned.IsZero() {
			return nil, noPin(op.Pin.CID + " is not pinned")
		}
		p := *old
		p.Unpinned = c.At
		return &p, nil
	case nodegate.PinUndo:
		if old == nil || old.Unpinned.IsZero() || !old.Unpinned.After(c.UndoSince) {
			return nil, noPin(op.Pin.CID + " can't be pinned again by undo: it was not unpinned, or too long ago")
		}
		p := *old
		p.Unpinned = time.Time{}
		return &p, nil
	case nodegate.PinRename:
		if old == nil || !old.Unpinned.IsZero() {
			return nil, noPin(op.Pin.CID + " is not pinned")
		}
		p := *old
		p.Name = op.Pin.Name
		return &p, nil
	}
	p := &pinRow{Pin: op.Pin, content: op.Content}
	p.AccountID, p.Unpinned = c.AccountID, time.Time{}
	if p.Name == "" && old != nil && old.Unpinned.IsZero() {
		p.Name = old.Name
	}
	return p, nil
}

// ReleasePins gives up a claim.
func (s *pinTables) ReleasePins(ctx context.Context, accountID, claim string) error {
	return s.write(ctx, "releasePins", "pin", func(t *tx) error {
		return t.releaseClaims(accountID, time.Now(), "id = $1 AND account = $2", cleaned(claim), cleaned(accountID))
	})
}

// releaseClaims drops claims of one account and frees what they held.
func (t *tx) releaseClaims(account string, at time.Time, where string, args ...any) error {
	used, err := t.lockPins(account)
	if err != nil {
		return err
	}
	claims, total, err := t.dropClaims(where, args...)
	if err != nil {
		return err
	}
	for _, content := range slices.Sorted(maps.Keys(claims)) {
		if err := t.free(content, at); err != nil {
			return err
		}
	}
	return t.setPinned(account, used-total)
}

// checkPinTexts refuses what not every database can hold.
func checkPinTexts(c *nodegate.PinChange) error {
	texts := []string{c.AccountID, c.Claim}
	for _, op := range c.Ops {
		texts = append(texts, op.Pin.CID, op.Pin.Name, op.Content)
	}
	if !storable(texts...) {
		return &nodegate.Error{Op: "sqlstore.pins", Code: nodegate.InvalidInput, Msg: "the name of a pin has characters that can't be stored: use UTF-8 without zero bytes"}
	}
	return nil
}

func errQuota() error {
	return &nodegate.Error{Op: "sqlstore.pins", Code: nodegate.QuotaReached, Msg: "storage quota reached"}
}

func errRemoving() error {
	return &nodegate.Error{Op: "sqlstore.pins", Code: nodegate.Busy, Msg: "the content is being removed: try again", RetryAfter: retryAfter}
}

func noPin(msg string) error {
	return &nodegate.Error{Op: "sqlstore.pins", Code: nodegate.NotFound, Msg: msg}
}
