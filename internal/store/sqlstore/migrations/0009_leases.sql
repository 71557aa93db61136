-- What only one server does at a time, by name: who does it, and until when.

CREATE TABLE leases (
  name   TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  ends   BIGINT NOT NULL
) WITHOUT ROWID;
