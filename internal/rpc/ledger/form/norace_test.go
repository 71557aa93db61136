//go:build !race

package form_test

const raced = false
