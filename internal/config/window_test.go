package config

import (
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

// TestWindowMethods: a history window can bound the methods whose rows say so, and no others.
func TestWindowMethods(t *testing.T) {
	for _, row := range method.All() {
		if allowed := checkWindowMethod(row.Name) == nil; allowed != row.Window {
			t.Errorf("%s can have a history window: %t, want %t", row.Name, allowed, row.Window)
		}
	}
}
