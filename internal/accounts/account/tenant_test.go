package account

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestForeignKeys calls every method that names a key with another account's id: it
// is NotFound, in the same words as for a key that doesn't exist.
func TestForeignKeys(t *testing.T) {
	d := newDesk(t)
	ctx := context.Background()
	owner, stranger := d.customer(t, "owner@example.com"), d.customer(t, "stranger@example.com")
	k := d.key(t, owner.ID).Key
	calls := map[string]func(account, id string) error{
		"Key":    func(a, id string) error { _, err := d.Key(ctx, a, id); return err },
		"Reveal": func(a, id string) error { _, err := d.Reveal(ctx, a, id); return err },
		"UpdateKey": func(a, id string) error {
			return d.UpdateKey(ctx, actor(), a, id, func(name *string, _ *nodegate.KeySettings) { *name = "mine now" })
		},
		"RevokeKey": func(a, id string) error { return d.RevokeKey(ctx, actor(), a, id) },
		"ExpireKey": func(a, id string) error { return d.ExpireKey(ctx, actor(), a, id) },
		"RotateKey": func(a, id string) error {
			_, err := d.RotateKey(ctx, actor(), a, id, Rotation{Value: true, Secret: true})
			return err
		},
	}
	noKey := []string{
		"Create", "Find", "List", "SetPlan", "ChoosePlan", "SetDevelopment", "CreateKey", "Keys", "ListKeys", "CountKeys", "BeginCard", "PutCard", "RemoveCard",
		"SignIn", "SignUp", "PlanOf", "Plans", "PlanNames", "SetPlans", "Session", "SignOut", "SetPassword", "ChangePassword", "Audit", "VerifyAudit", "AuditBefore", "Record", "Search", "Statement", "Device", "Close",
		"Delete", "DeleteOwn", "EndSession", "EndSessions", "WriteExport", "Link", "Mails", "NewLink", "RequestEmail", "RequestReset", "RequestSignUp", "RequestVerify",
		"Sessions", "SetMail", "SetOperator", "SetSuspended", "KeepOperator", "StandardPlan", "UseLink",
		"KeyProblems", "SealReceipt", "OpenReceipt", // they read no key; for receipts see TestReceipt
	}
	checkMethods(t, calls, noKey)
	before := d.auditCount(t)
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			foreign, missing := call(stranger.ID, k.ID), call(stranger.ID, "k-00000000000000000000")
			want(t, foreign, nodegate.NotFound, "no such")
			if foreign == nil || missing == nil || foreign.Error() != missing.Error() {
				t.Errorf("a foreign key is %v, a missing one %v", foreign, missing)
			}
			want(t, call("a-nobody", k.ID), nodegate.NotFound, "no such")
			want(t, call("", k.ID), nodegate.NotFound, "no such")
		})
	}
	if got, err := d.Key(ctx, owner.ID, k.ID); err != nil || !reflect.DeepEqual(got, k) {
		t.Errorf("the key is now %+v, %v", got, err)
	}
	if keys, err := d.Keys(ctx, stranger.ID); err != nil || len(keys) != 0 {
		t.Errorf("the stranger has %d keys, %v", len(keys), err)
	}
	if keys, err := d.ListKeys(ctx, nodegate.KeyQuery{AccountID: stranger.ID, IDs: []string{k.ID}, Limit: 9}); err != nil || len(keys) != 0 {
		t.Errorf("the stranger lists %d keys, %v", len(keys), err)
	}
	if n, err := d.CountKeys(ctx, stranger.ID); err != nil || n != (nodegate.KeyCount{}) {
		t.Errorf("the stranger's keys are counted as %+v, %v", n, err)
	}
	if d.auditCount(t) != before {
		t.Error("the audit log has new entries")
	}
}

// checkMethods fails when a new method is not in the table: somebody has to say
// whether it names a key.
func checkMethods(t *testing.T, calls map[string]func(account, id string) error, noKey []string) {
	t.Helper()
	service := reflect.TypeFor[*Service]()
	for i := range service.NumMethod() {
		name := service.Method(i).Name
		if (calls[name] != nil) == slices.Contains(noKey, name) {
			t.Errorf("put the method %s into one of the two lists", name)
		}
	}
	if n := service.NumMethod(); n != len(calls)+len(noKey) {
		t.Errorf("%d methods, %d in the lists", n, len(calls)+len(noKey))
	}
}

// TestMissingAccounts is NotFound for every method that takes an account.
func TestMissingAccounts(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Find":            func() error { _, err := d.Find(ctx, "a-nobody"); return err },
		"Find by address": func() error { _, err := d.Find(ctx, "nobody@example.com"); return err },
		"SetPlan":         func() error { return d.SetPlan(ctx, actor(), "a-nobody", "free") },
		"CreateKey": func() error {
			_, err := d.CreateKey(ctx, actor(), "a-nobody", "", nodegate.KeySettings{})
			return err
		},
		"BeginCard":    func() error { _, err := d.BeginCard(ctx, "a-nobody"); return err },
		"PutCard":      func() error { _, err := d.PutCard(ctx, actor(), goodCard("a-nobody")); return err },
		"RemoveCard":   func() error { return d.RemoveCard(ctx, actor(), "a-nobody") },
		"SetPassword":  func() error { return d.SetPassword(ctx, actor(), "a-nobody", password) },
		"Delete":       func() error { return d.Delete(ctx, actor(), "a-nobody") },
		"SetSuspended": func() error { return d.SetSuspended(ctx, actor(), "a-nobody", true) },
		"SetOperator":  func() error { return d.SetOperator(ctx, actor(), "a-nobody", true) },
		"KeepOperator": func() error { return d.KeepOperator().Delete(ctx, actor(), "a-nobody") },
		"WriteExport":  func() error { return d.WriteExport(ctx, new(bytes.Buffer), "a-nobody", nil) },
		"EndSessions":  func() error { return d.EndSessions(ctx, actor(), "a-nobody") },
		"EndSession":   func() error { return d.EndSession(ctx, actor(), "no token", "0011223344556677") },
		"Sessions":     func() error { _, err := d.Sessions(ctx, "no token"); return err },
		"DeleteOwn":    func() error { return d.DeleteOwn(ctx, actor(), "no token", password) },
		"NewLink": func() error {
			_, _, err := d.NewLink(ctx, actor(), nodegate.LinkReset, "a-nobody", "")
			return err
		},
		"Session": func() error { _, err := d.Session(ctx, "no token"); return err },
		"ChangePassword": func() error {
			_, err := d.ChangePassword(ctx, actor(), "no token", password, password)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { want(t, call(), nodegate.NotFound, "no such") })
	}
	if n := d.auditCount(t); n != 0 {
		t.Errorf("%d audit entries", n)
	}
}
