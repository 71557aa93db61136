// Package accounts tests accounts, keys, limits and usage on the whole service:
// real listeners, real chains, SQLite, Postgres and Redis, and the real program.
//
// Most tests share one server (main_test.go) and make a key of their own on it. The
// tests of several servers, lost databases and killed processes start what they
// break. Those of Postgres and Redis are skipped where the programs are missing.
package accounts
