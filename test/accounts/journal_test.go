package accounts_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
)

// kept are the entries of a tenant's key, oldest first.
func (k *tenant) kept() []requestlog.Entry {
	list := k.svc.Server.RequestLog().Latest(k.account, k.id, requestlog.Filter{}).Entries
	slices.Reverse(list)
	return list
}

// TestJournal: a served request can be looked at at once, with what its client was
// told; no entry has a key, and parameters are there only while the owner wants them.
func TestJournal(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	const bad = `{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x01","latest"]}`
	send(t, k.url, chainID).want(t, 200, 0, "", "1")
	told := send(t, k.url, bad)
	list := k.kept()
	if len(list) != 2 || list[0].Method != "eth_chainId" || list[0].Outcome != "ok" || list[0].Network != "devnet" || list[0].Credits != 5 {
		t.Fatalf("got %+v", list)
	}
	if e := list[1]; e.Outcome != "invalid params" || e.Error == "" || !strings.Contains(told.body, e.Error) || e.Params != nil {
		t.Errorf("got %+v, the client was told %s", e, told.body)
	}
	set := func(keep bool) {
		if err := s.Server.Control().Accounts.UpdateKey(context.Background(), actor, k.account, k.id, func(_ *string, s *nodegate.KeySettings) { s.KeepParams = keep }); err != nil {
			t.Fatal(err)
		}
	}
	set(true)
	send(t, k.url, balance).want(t, 200, 0, "", "7")
	if e := k.kept()[2]; !strings.HasPrefix(string(e.Params), `["0x0000`) {
		t.Errorf("with parameters: %+v", e)
	}
	set(false)
	for _, e := range k.kept() {
		if len(e.Params) > 0 || strings.Contains(e.Error, k.key) {
			t.Errorf("without parameters: %+v", e)
		}
	}
}
