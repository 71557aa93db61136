// Package dbtest starts real databases for tests: Postgres and Redis, each in a
// temporary folder of its own, and stops them again.
//
// Postgres gives a test a fresh database on a server that all tests of the process
// share. PostgresServer and Redis start a server for one test, which may pause,
// kill and restart it.
//
// Where the programs are not installed the test is skipped and says what to
// install; with NODEGATE_REQUIRE_DATABASES=1 it fails instead. No server outlives
// the test process, however that ends.
package dbtest
