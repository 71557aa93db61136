package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

const (
	// pinRequestColumns are what scanPinRequest reads.
	pinRequestColumns = "id, cid, name, origins, meta, status, details, replaces, created, leased"
	pinWaiting        = "(status = 'queued' OR status = 'pinning')"
	// pinRequestRow is what a row takes beside its texts, about.
	pinRequestRow = 400
)

func scanPinRequest(account string, row scan) (*nodegate.PinRequest, error) {
	r := &nodegate.PinRequest{AccountID: account}
	var origins, meta string
	var created, leased int64
	if err := row(&r.ID, &r.CID, &r.Name, &origins, &meta, &r.Status, &r.Details, &r.Replaces, &created, &leased); err != nil {
		return nil, err
	}
	r.Created = time.UnixMicro(created).UTC()
	if leased != 0 {
		r.Leased = time.UnixMicro(leased).UTC()
	}
	if err := json.Unmarshal([]byte(origins), &r.Origins); err != nil {
		return nil, err
	}
	return r, json.Unmarshal([]byte(meta), &r.Meta)
}

// scanBriefly reads what tells requests apart, without the texts of clients.
func scanBriefly(account string, row scan) (*nodegate.PinRequest, error) {
	r := &nodegate.PinRequest{AccountID: account}
	return r, row(&r.ID, &r.CID, &r.Status)
}

// lease is how a time is stored in the column leased.
func lease(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// AddPinRequest writes a new request, within what the account may have.
func (s *pinRequestTables) AddPinRequest(ctx context.Context, r *nodegate.PinRequest, now time.Time, b nodegate.PinRequestBounds) error {
	origins, err := json.Marshal(r.Origins)
	if err != nil {
		return err
	}
	meta, err := json.Marshal(r.Meta)
	if err != nil {
		return err
	}
	if !storable(r.AccountID, r.ID, r.CID, r.Name, r.Replaces) {
		return &nodegate.Error{Op: "sqlstore.pinRequests", Code: nodegate.InvalidInput, Msg: "the name of a pin has characters that can't be stored: use UTF-8 without zero bytes"}
	}
	size := int64(pinRequestRow + len(r.CID) + len(r.Name) + len(origins) + len(meta))
	return s.write(ctx, "addPinRequest", "pin request", func(t *tx) error {
		created, err := t.countPinRequest(r, size, now, b)
		if err != nil {
			return err
		}
		n, err := t.exec("INSERT INTO pin_requests (account, "+pinRequestColumns+", bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING",
			r.AccountID, r.ID, r.CID, r.Name, string(origins), string(meta), string(r.Status), cleaned(r.Details), r.Replaces, created.UnixMicro(), lease(r.Leased), size)
		if err == nil && n == 0 {
			err = t.uncountPinRequest(r.AccountID, size)
		}
		r.Created = created
		return err
	})
}

// countPinRequest counts a request of an account, and makes its other writers wait. It
// returns when the request was created.
func (t *tx) countPinRequest(r *nodegate.PinRequest, size int64, now time.Time, b nodegate.PinRequestBounds) (time.Time, error) {
	at, created := now.Truncate(time.Millisecond).UnixMicro(), r.Created.Truncate(time.Microsecond)
	var requests, bytes, newest, waiting int64
	err := t.queryRow(`INSERT INTO pin_request_usage (account, requests, bytes, newest) VALUES ($1, 0, 0, 0)
		ON CONFLICT (account) DO UPDATE SET requests = pin_request_usage.requests RETURNING requests, bytes, newest`, []any{r.AccountID}, &requests, &bytes, &newest)
	if err != nil {
		return created, err
	}
	if err := t.queryRow("SELECT COUNT(*) FROM pin_requests WHERE account = $1 AND "+pinWaiting, []any{r.AccountID}, &waiting); err != nil {
		return created, err
	}
	switch {
	case requests >= b.Requests, bytes+size > b.Bytes:
		return created, errManyPins(requests, bytes, b)
	case r.Status.Waits() && waiting >= b.Waiting:
		return created, errWaitingPins(b.Waiting)
	}
	if created.IsZero() {
		newest = max(at, newest+time.Millisecond.Microseconds())
		created = time.UnixMicro(newest).UTC()
	}
	_, err = t.exec("UPDATE pin_request_usage SET requests = $2, bytes = $3, newest = $4 WHERE account = $1", r.AccountID, requests+1, bytes+size, newest)
	return created, err
}

func (t *tx) uncountPinRequest(account string, size int64) error {
	_, err := t.exec("UPDATE pin_request_usage SET requests = requests - 1, bytes = bytes - $2 WHERE account = $1", account, size)
	return err
}

func errManyPins(requests, bytes int64, b nodegate.PinRequestBounds) error {
	return &nodegate.Error{Op: "sqlstore.pinRequests", Code: nodegate.QuotaReached, Msg: fmt.Sprintf(
		"too many pin requests: the account has %d of %d, with %d of %d bytes of names and metadata. Delete some first", requests, b.Requests, bytes, b.Bytes)}
}

func errWaitingPins(most int64) error {
	return &nodegate.Error{Op: "sqlstore.pinRequests", Code: nodegate.AccountBusy, RetryAfter: 5 * time.Second, Msg: fmt.Sprintf(
		"%d pin requests are already waiting, which is the maximum: wait for some to finish, or delete them", most)}
}

// PinRequest finds a request of an account.
func (s *pinRequestTables) PinRequest(ctx context.Context, accountID, id string) (*nodegate.PinRequest, error) {
	return scanPinRequest(accountID, func(into ...any) error {
		return s.one(ctx, "pinRequest", "pin request", "SELECT "+pinRequestColumns+" FROM pin_requests WHERE account = $1 AND id = $2",
			[]any{cleaned(accountID), cleaned(id)}, into...)
	})
}

// PinRequests hands an account's requests to each.
func (s *pinRequestTables) PinRequests(ctx context.Context, q nodegate.PinRequestQuery, each func(*nodegate.PinRequest) error) error {
	columns, scanned := pinRequestColumns, scanPinRequest
	if q.Brief {
		columns, scanned = "id, cid, status", scanBriefly
	}
	query, args := "SELECT "+columns+" FROM pin_requests WHERE account = $1", []any{cleaned(q.AccountID)}
	and := func(condition string, value any) {
		args = append(args, value)
		query += fmt.Sprintf(" AND "+condition, len(args))
	}
	if !q.After.IsZero() {
		and("created >= $%d", q.After.UnixMicro())
	}
	if !q.Before.IsZero() {
		and("created <= $%d", q.Before.UnixMicro())
	}
	oneOf := func(column string, n int, value func(i int) string) {
		var marks []string
		for i := range n {
			args = append(args, value(i))
			marks = append(marks, fmt.Sprintf("$%d", len(args)))
		}
		query += " AND " + column + " IN (" + strings.Join(marks, ", ") + ")"
	}
	if q.CIDs != nil {
		oneOf("cid", len(q.CIDs), func(i int) string { return cleaned(q.CIDs[i]) })
	}
	if q.Statuses != nil {
		oneOf("status", len(q.Statuses), func(i int) string { return string(q.Statuses[i]) })
	}
	if q.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	return s.each(ctx, "pinRequests", "pin request", query, args, func(row scan) error {
		r, err := scanned(q.AccountID, row)
		if err != nil {
			return err
		}
		return each(r)
	})
}

// DeletePinRequest removes a request.
func (s *pinRequestTables) DeletePinRequest(ctx context.Context, accountID, id string) error {
	return s.write(ctx, "deletePinRequest", "pin request", func(t *tx) error {
		var size int64
		if err := t.queryRow("DELETE FROM pin_requests WHERE account = $1 AND id = $2 RETURNING bytes", []any{cleaned(accountID), cleaned(id)}, &size); err != nil {
			return err
		}
		return t.uncountPinRequest(accountID, size)
	})
}

// ClaimPinRequest takes an account's oldest request that waits.
func (s *pinRequestTables) ClaimPinRequest(ctx context.Context, accountID string, now, until time.Time) (r *nodegate.PinRequest, err error) {
	err = s.write(ctx, "claimPinRequest", "pin request", func(t *tx) error {
		r, err = scanPinRequest(accountID, func(into ...any) error {
			return t.queryRow("UPDATE pin_requests SET status = 'pinning', leased = $3 WHERE account = $1 AND leased <= $2 AND id = (SELECT id FROM pin_requests WHERE account = $1 AND "+
				pinWaiting+" AND leased <= $2 ORDER BY created LIMIT 1) RETURNING "+pinRequestColumns, []any{accountID, now.UnixMicro(), until.UnixMicro()}, into...)
		})
		return err
	})
	return r, err
}

// RenewPinRequest moves the end of a claim.
func (s *pinRequestTables) RenewPinRequest(ctx context.Context, accountID, id string, until time.Time) (bool, error) {
	n, err := s.writeOne(ctx, "renewPinRequest", "pin request", "UPDATE pin_requests SET leased = $3 WHERE account = $1 AND id = $2 AND "+pinWaiting, accountID, id, until.UnixMicro())
	return n > 0, err
}

// EndPinRequest writes status, details and lease of a request that waits.
func (s *pinRequestTables) EndPinRequest(ctx context.Context, r *nodegate.PinRequest) error {
	n, err := s.writeOne(ctx, "endPinRequest", "pin request", "UPDATE pin_requests SET status = $3, details = $4, leased = $5 WHERE account = $1 AND id = $2 AND "+pinWaiting,
		r.AccountID, r.ID, string(r.Status), cleaned(r.Details), lease(r.Leased))
	if err == nil && n == 0 {
		err = notFound("endPinRequest", "pin request")
	}
	return err
}

// RequeuePinRequests lets an account's pinned requests for a CID wait again.
func (s *pinRequestTables) RequeuePinRequests(ctx context.Context, accountID, cid string) (int64, error) {
	return s.writeOne(ctx, "requeuePinRequests", "pin request", "UPDATE pin_requests SET status = 'queued', leased = 0 WHERE account = $1 AND cid = $2 AND status = 'pinned'", accountID, cid)
}

// waitingAccounts jumps from one account to the next in the index: one account may have a
// thousand requests that wait, and this is asked whenever one of them is done.
const (
	waitingAfter    = " AND " + pinWaiting + " AND leased <= $2 ORDER BY account LIMIT 1)"
	waitingAccounts = "WITH RECURSIVE waiting(owner) AS (" +
		"SELECT (SELECT account FROM pin_requests WHERE account > $1" + waitingAfter + " UNION ALL " +
		"SELECT (SELECT account FROM pin_requests WHERE account > owner" + waitingAfter + " FROM waiting WHERE owner IS NOT NULL) " +
		"SELECT owner FROM waiting WHERE owner IS NOT NULL LIMIT $3"
)

// WaitingPinAccounts lists accounts with requests that could be claimed.
func (s *pinRequestTables) WaitingPinAccounts(ctx context.Context, after string, now time.Time, limit int) (list []string, err error) {
	err = s.each(ctx, "waitingPinAccounts", "pin request", waitingAccounts,
		[]any{after, now.UnixMicro(), limit}, func(row scan) error {
			var account string
			err := row(&account)
			list = append(list, account)
			return err
		})
	return list, err
}
