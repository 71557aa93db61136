-- Links that were mailed or printed and that nobody has used yet. account is '' before
-- there is an account.
CREATE TABLE links (
  digest  BLOB PRIMARY KEY,
  purpose TEXT NOT NULL,
  account TEXT NOT NULL,
  email   TEXT NOT NULL,
  mailed  BOOLEAN NOT NULL,
  created BIGINT,
  expires BIGINT NOT NULL
);
CREATE INDEX links_account ON links (account, email);
CREATE INDEX links_expires ON links (expires);

-- Accounts that exist count as verified, and sessions that exist have no origin.
ALTER TABLE accounts ADD COLUMN unverified BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE accounts ADD COLUMN suspended BIGINT;
ALTER TABLE sessions ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';

-- Accounts that were deleted and may still have pins, which a server with the block store
-- removes.
CREATE TABLE departed (
  account TEXT PRIMARY KEY,
  at      BIGINT NOT NULL
) WITHOUT ROWID;
