// Package storage tests the storage gateway on the whole service: real listeners, a
// real block store and account store, and processes that are killed.
//
// The right answers to requests stand in testdata as text (script_test.go says how
// to read them). Most tests share one server (main_test.go) and make an account of
// their own on it. Those that need small plans, damaged disks or killed processes
// start what they break.
package storage
