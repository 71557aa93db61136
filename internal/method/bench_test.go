package method_test

import (
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

// BenchmarkOf is the lookup that every request to a remote network makes.
func BenchmarkOf(b *testing.B) {
	names := []string{"eth_call", "eth_getStorageAt", "eth_getTransactionByBlockHashAndIndex", "foo_bar"}
	b.ReportAllocs()
	sum := 0
	for i := 0; b.Loop(); i++ {
		sum += method.Of(names[i&3]).Block
	}
	_ = sum
}
