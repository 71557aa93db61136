package accounts_test

import (
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestFilterOwner: a filter exists for the key that created it and for nobody else, and
// its id says nothing about the next one.
func TestFilterOwner(t *testing.T) {
	s := shared(t)
	alice, mallory := newTenant(t, s, "unlimited", nodegate.KeySettings{}), newTenant(t, s, "unlimited", nodegate.KeySettings{})
	filter := func(k *tenant) string {
		a := send(t, k.url, callOf("eth_newBlockFilter", "[]")).body
		_, rest, _ := strings.Cut(a, `"result":"`)
		id, _, ok := strings.Cut(rest, `"`)
		if !ok || len(id) != len("0x")+32 {
			t.Fatalf("eth_newBlockFilter: %s", a)
		}
		return id
	}
	id := filter(alice)
	for _, method := range []string{"eth_getFilterChanges", "eth_getFilterLogs"} {
		if a := send(t, mallory.url, callOf(method, `["`+id+`"]`)).body; !strings.Contains(a, "filter not found") {
			t.Errorf("%s of another account: %s", method, a)
		}
	}
	if a := send(t, mallory.url, callOf("eth_uninstallFilter", `["`+id+`"]`)).body; !strings.Contains(a, `"result":false`) {
		t.Errorf("removed by another account: %s", a)
	}
	if a := send(t, alice.url, callOf("eth_getFilterChanges", `["`+id+`"]`)).body; !strings.Contains(a, `"result":[`) {
		t.Errorf("its owner gets %s", a)
	}
}
