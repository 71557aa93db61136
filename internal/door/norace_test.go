//go:build !race

package door

const raced = false
