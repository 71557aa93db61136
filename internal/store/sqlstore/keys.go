package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"

	"github.com/nodegate/nodegate"
)

// selectKeys reads keys with all their versions in one statement, which sees one
// state of the database. A key has a row for each pair of a value and a secret;
// there are only ever a few of either.
const selectKeys = `SELECT k.id, k.account, k.name, k.settings, k.created, k.revoked, k.version,
	v.position, v.digest, v.sealed, v.prefix, v.expires, s.position, s.digest, s.expires
	FROM keys k LEFT JOIN key_values v ON v.key_id = k.id LEFT JOIN key_secrets s ON s.key_id = k.id `

// Key finds a key of an account.
func (s *keyTable) Key(ctx context.Context, accountID, id string) (*nodegate.Key, error) {
	if !storable(accountID, id) {
		return nil, notFound("key", "API key")
	}
	return s.key(ctx, "WHERE k.account = $1 AND k.id = $2", accountID, id)
}

// KeyByDigest finds the key that has a version with this digest.
func (s *keyTable) KeyByDigest(ctx context.Context, d nodegate.Digest) (*nodegate.Key, error) {
	return s.key(ctx, "WHERE k.id = (SELECT key_id FROM key_values WHERE digest = $1)", d[:])
}

func (s *keyTable) key(ctx context.Context, where string, args ...any) (*nodegate.Key, error) {
	list, err := s.keys(ctx, "key", where+" ORDER BY v.position, s.position", args...)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, notFound("key", "API key")
	}
	return list[0], nil
}

// KeysOf lists an account's keys, revoked ones too, oldest first.
func (s *keyTable) KeysOf(ctx context.Context, accountID string) ([]*nodegate.Key, error) {
	return s.keys(ctx, "keysOf", "WHERE k.account = $1 ORDER BY COALESCE(k.created, 0), k.id, v.position, s.position", cleaned(accountID))
}

// KeysAfter lists some of KeysOf.
func (s *keyTable) KeysAfter(ctx context.Context, accountID string, after *nodegate.Key, limit int) ([]*nodegate.Key, error) {
	created, id := int64(math.MinInt64), ""
	if after != nil {
		created, id = 0, after.ID
		if !after.Created.IsZero() {
			created = after.Created.UnixMicro()
		}
	}
	return s.keys(ctx, "keysAfter", `WHERE k.id IN (SELECT id FROM keys WHERE account = $1 AND (COALESCE(created, 0) > $2 OR COALESCE(created, 0) = $2 AND id > $3)
		ORDER BY COALESCE(created, 0), id LIMIT $4) ORDER BY COALESCE(k.created, 0), k.id, v.position, s.position`,
		cleaned(accountID), created, cleaned(id), max(limit, 0))
}

// LiveKeys lists all keys that are not revoked, in the order of ids.
func (s *keyTable) LiveKeys(ctx context.Context, after string, limit int) ([]*nodegate.Key, error) {
	return s.keys(ctx, "liveKeys", `WHERE k.id IN (SELECT id FROM keys WHERE revoked IS NULL AND id > $1 ORDER BY id LIMIT $2)
		ORDER BY k.id, v.position, s.position`, cleaned(after), max(limit, 0))
}

// keys puts the rows together again; those of one key follow each other.
func (s *keyTable) keys(ctx context.Context, op, where string, args ...any) ([]*nodegate.Key, error) {
	var list []*nodegate.Key
	err := s.each(ctx, op, "API key", selectKeys+where, args, func(row scan) error {
		r, err := scanKey(row)
		if err != nil {
			return err
		}
		if len(list) == 0 || list[len(list)-1].ID != r.key.ID {
			list = append(list, &r.key)
		}
		return r.addTo(list[len(list)-1])
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// keyRow is a key with one of its values and one of its secrets, where it has any.
type keyRow struct {
	key                       nodegate.Key
	valueNumber, secretNumber sql.NullInt64
	value, secret             []byte // digests
	sealed                    []byte
	prefix                    sql.NullString
	valueExpires              stamp
	secretExpires             stamp
}

func scanKey(row scan) (*keyRow, error) {
	var (
		r                keyRow
		settings         string
		created, revoked stamp
	)
	err := row(&r.key.ID, &r.key.AccountID, &r.key.Name, &settings, &created, &revoked, &r.key.Version,
		&r.valueNumber, &r.value, &r.sealed, &r.prefix, &r.valueExpires, &r.secretNumber, &r.secret, &r.secretExpires)
	if err != nil {
		return nil, err
	}
	r.key.Created, r.key.Revoked = created.Time, revoked.Time
	return &r, json.Unmarshal([]byte(settings), &r.key.Settings)
}

// addTo appends the versions that the key does not have yet.
func (r *keyRow) addTo(k *nodegate.Key) error {
	if r.valueNumber.Valid && int(r.valueNumber.Int64) == len(k.Values) {
		v := nodegate.KeyValue{Sealed: r.sealed, Prefix: r.prefix.String, Expires: r.valueExpires.Time}
		if err := (digest{&v.Digest}).Scan(r.value); err != nil {
			return err
		}
		k.Values = append(k.Values, v)
	}
	if r.secretNumber.Valid && int(r.secretNumber.Int64) == len(k.Secrets) {
		secret := nodegate.KeySecret{Expires: r.secretExpires.Time}
		if err := (digest{&secret.Digest}).Scan(r.secret); err != nil {
			return err
		}
		k.Secrets = append(k.Secrets, secret)
	}
	return nil
}

// saveKey is as saveAccount; the versions of the key are replaced.
func (t *tx) saveKey(k *nodegate.Key) error {
	settings, err := json.Marshal(k.Settings)
	if err != nil {
		return err
	}
	args := []any{k.ID, k.AccountID, k.Name, string(settings), stamp{k.Created}, stamp{k.Revoked}}
	if k.Version == 0 {
		if _, err := t.exec(`INSERT INTO keys (id, account, name, settings, created, revoked, version)
			VALUES ($1, $2, $3, $4, $5, $6, 1)`, args...); err != nil {
			return err
		}
		return t.insertVersions(k)
	}
	n, err := t.exec(`UPDATE keys SET name = $3, settings = $4, created = $5, revoked = $6, version = version + 1
		WHERE id = $1 AND account = $2 AND version = $7`, append(args, k.Version)...)
	if err == nil && n == 0 {
		return errStale("API key")
	}
	for _, table := range []string{"key_values", "key_secrets"} {
		if err == nil {
			_, err = t.exec("DELETE FROM "+table+" WHERE key_id = $1", k.ID)
		}
	}
	if err != nil {
		return err
	}
	return t.insertVersions(k)
}

func (t *tx) insertVersions(k *nodegate.Key) error {
	for i, v := range k.Values {
		_, err := t.exec("INSERT INTO key_values (key_id, position, digest, sealed, prefix, expires) VALUES ($1, $2, $3, $4, $5, $6)",
			k.ID, i, v.Digest[:], v.Sealed, v.Prefix, stamp{v.Expires})
		if err != nil {
			return err
		}
	}
	for i, secret := range k.Secrets {
		_, err := t.exec("INSERT INTO key_secrets (key_id, position, digest, expires) VALUES ($1, $2, $3, $4)",
			k.ID, i, secret.Digest[:], stamp{secret.Expires})
		if err != nil {
			return err
		}
	}
	return nil
}
