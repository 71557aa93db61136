-- Times are microseconds since 1970, null for none. The words TEXT, BLOB and
-- WITHOUT ROWID are replaced by what the database calls them.

-- One row: every change takes its lock first, so numbers are given in the order
-- of commits and without gaps.
CREATE TABLE sequences (
  one    BIGINT PRIMARY KEY CHECK (one = 1),
  change BIGINT NOT NULL,
  audit  BIGINT NOT NULL
);
INSERT INTO sequences (one, change, audit) VALUES (1, 0, 0);

CREATE TABLE accounts (
  id             TEXT PRIMARY KEY,
  email          TEXT NOT NULL UNIQUE,
  password       TEXT NOT NULL,
  plan           TEXT NOT NULL,
  operator       BOOLEAN NOT NULL,
  card_brand     TEXT,
  card_last_four TEXT,
  card_exp_month BIGINT,
  card_exp_year  BIGINT,
  card_processor TEXT,
  card_reference TEXT,
  created        BIGINT,
  version        BIGINT NOT NULL
);

CREATE TABLE keys (
  id       TEXT PRIMARY KEY,
  account  TEXT NOT NULL REFERENCES accounts (id),
  name     TEXT NOT NULL,
  settings TEXT NOT NULL,
  created  BIGINT,
  revoked  BIGINT,
  version  BIGINT NOT NULL
);
CREATE INDEX keys_account ON keys (account);

CREATE TABLE key_values (
  key_id   TEXT NOT NULL REFERENCES keys (id),
  position BIGINT NOT NULL,
  digest   BLOB NOT NULL UNIQUE,
  sealed   BLOB,
  prefix   TEXT NOT NULL,
  expires  BIGINT,
  PRIMARY KEY (key_id, position)
);

CREATE TABLE key_secrets (
  key_id   TEXT NOT NULL REFERENCES keys (id),
  position BIGINT NOT NULL,
  digest   BLOB NOT NULL,
  expires  BIGINT,
  PRIMARY KEY (key_id, position)
);

CREATE TABLE sessions (
  digest  BLOB PRIMARY KEY,
  account TEXT NOT NULL REFERENCES accounts (id),
  created BIGINT,
  expires BIGINT
);
CREATE INDEX sessions_account ON sessions (account);
CREATE INDEX sessions_expires ON sessions (expires);

CREATE TABLE changes (
  number  BIGINT PRIMARY KEY,
  account TEXT NOT NULL,
  key_id  TEXT NOT NULL
);

CREATE TABLE audit (
  number  BIGINT PRIMARY KEY,
  at      BIGINT,
  actor   TEXT NOT NULL,
  origin  TEXT NOT NULL,
  action  TEXT NOT NULL,
  account TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL,
  digest  BLOB NOT NULL
);

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
