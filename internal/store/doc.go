// Package store holds the databases behind the domain's Store interface: sqlstore (SQLite and
// Postgres), redisstore (limits that several servers share), and storetest, the suite that
// every store passes.
package store
