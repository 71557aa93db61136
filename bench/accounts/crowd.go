package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// crowd is a real store that also claims to hold many accounts and keys. They are
// made up as they are listed: writing each to disk would take minutes and change
// nothing, as no request reads them from there.
type crowd struct {
	*sqlstore.Store
	vault          *credential.Vault
	keys           []string
	accounts, each int
}

func newCrowd(store *sqlstore.Store, v *credential.Vault, o options) *crowd {
	c := &crowd{Store: store, vault: v, accounts: o.accounts, each: max(o.keys/o.accounts, 1)}
	for range c.accounts * c.each {
		c.keys = append(c.keys, credential.NewKey())
	}
	return c
}

func accountID(i int) string { return fmt.Sprintf("a-%020x", i) }
func keyID(i int) string     { return fmt.Sprintf("k-%020x", i) }

// Accounts lists the made-up accounts.
func (c *crowd) Accounts(_ context.Context, after string, limit int) (list []*nodegate.Account, err error) {
	for i := next(after, "a-"); i < c.accounts && len(list) < limit; i++ {
		list = append(list, &nodegate.Account{ID: accountID(i), Email: fmt.Sprintf("%d@example.com", i), Plan: plan.Name, Created: time.Now(), Version: 1})
	}
	return list, nil
}

// LiveKeys lists the made-up keys.
func (c *crowd) LiveKeys(_ context.Context, after string, limit int) (list []*nodegate.Key, err error) {
	for i := next(after, "k-"); i < len(c.keys) && len(list) < limit; i++ {
		list = append(list, c.key(i))
	}
	return list, nil
}

func (c *crowd) key(i int) *nodegate.Key {
	id := keyID(i)
	return &nodegate.Key{
		ID: id, AccountID: accountID(i % c.accounts), Name: "made up", Created: time.Now(), Version: 1,
		Values:  []nodegate.KeyValue{{Digest: c.vault.KeyDigest(c.keys[i]), Sealed: make([]byte, 60), Prefix: c.keys[i][:4]}},
		Secrets: []nodegate.KeySecret{{Digest: c.vault.SecretDigest(id, credential.NewSecret())}},
	}
}

// next is the number behind the last id of a page.
func next(after, prefix string) int {
	if after == "" {
		return 0
	}
	var i int
	if _, err := fmt.Sscanf(after, prefix+"%x", &i); err != nil {
		panic("not an id of this crowd: " + after)
	}
	return i + 1
}

// stored writes one account with a key for real, and returns the key.
func (c *crowd) stored(ctx context.Context) (string, error) {
	key, k := credential.NewKey(), c.key(0)
	k.ID, k.AccountID, k.Version = "k-stored", "a-stored", 0
	k.Values = slices.Clone(k.Values)
	k.Values[0].Digest = c.vault.KeyDigest(key)
	a := &nodegate.Account{ID: k.AccountID, Email: "stored@example.com", Plan: plan.Name, Created: time.Now()}
	return key, c.Save(ctx, &nodegate.Change{Account: a, Key: k, Audit: nodegate.AuditEntry{Action: "key.create"}})
}
