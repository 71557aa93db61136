//go:build !race

package auth

const raced = false
