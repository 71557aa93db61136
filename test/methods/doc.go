// Package methods walks every row of the method table through every package that goes by
// it: what a row says is what they do.
package methods
