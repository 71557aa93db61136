// Package sqlstore is the domain's stores on SQLite and on Postgres, with one set of
// queries through database/sql. Start at OpenSQLite or OpenPostgres in open.go; a
// file for each topic follows: accounts, keys, save, changes, audit, sessions,
// usage, pins.
//
// What differs between the two databases stands in a dialect value: the names of
// a few types, how a start-up waits for another's, and what an error means. The
// tables are made and brought up to date by the numbered files in migrations.
//
// Changes are made by Save only. Its transaction begins with an UPDATE of the one
// row in the table sequences and so waits for every other Save: change numbers and
// audit entries are in the order of commits, without gaps, and a reader that goes
// on from the last number misses none.
//
// Every step of a call has five seconds. A database that does not answer by then
// is Busy, and so is one whose connection broke; the next call connects again.
// After a Busy it is unknown whether a change was made: read again.
package sqlstore
