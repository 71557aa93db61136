package sqlstore

import "context"

// Database is what an operator wants to know of the database.
type Database struct {
	Kind  string // sqlite or postgres
	Bytes int64  // that its tables and indexes take
}

// Database says which database this is, and how large.
func (c *conn) Database(ctx context.Context) (Database, error) {
	d := Database{Kind: c.dialect.name}
	err := c.one(ctx, "database", "database", c.dialect.size, nil, &d.Bytes)
	return d, err
}
