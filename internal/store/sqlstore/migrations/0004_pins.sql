-- The pins of an engine whose blocks lie on nodes that several servers share.
-- Transactions take locks in one order: the account's row in pin_usage, then rows of
-- pin_content in the order of their names. Who holds the account's row may count and
-- change all its pins, claims and loose bytes.

CREATE TABLE pins (
  account  TEXT NOT NULL,
  cid      TEXT NOT NULL,
  content  TEXT NOT NULL,
  name     TEXT NOT NULL,
  deep     BOOLEAN NOT NULL,
  size     BIGINT NOT NULL,
  created  BIGINT,
  unpinned BIGINT,
  PRIMARY KEY (account, cid)
) WITHOUT ROWID;
CREATE INDEX pins_content ON pins (content);
CREATE INDEX pins_unpinned ON pins (unpinned) WHERE unpinned IS NOT NULL;

-- Content that is about to be pinned, and the bytes that it will cost.
CREATE TABLE pin_claims (
  id      TEXT NOT NULL,
  content TEXT NOT NULL,
  account TEXT NOT NULL,
  bytes   BIGINT NOT NULL,
  at      BIGINT NOT NULL,
  PRIMARY KEY (id, content)
) WITHOUT ROWID;
CREATE INDEX pin_claims_content ON pin_claims (content);
CREATE INDEX pin_claims_at ON pin_claims (at);

-- Uploads without a pin.
CREATE TABLE pin_loose (
  id      TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  bytes   BIGINT NOT NULL,
  at      BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX pin_loose_at ON pin_loose (at);

-- What may be pinned on the nodes. freed is set when somebody lets go of it, and
-- taken back when others turn out to need it; removing while it is taken off the nodes.
CREATE TABLE pin_content (
  content  TEXT PRIMARY KEY,
  freed    BIGINT,
  removing BIGINT
) WITHOUT ROWID;
CREATE INDEX pin_content_freed ON pin_content (content) WHERE freed IS NOT NULL;

-- The sum of an account's pins, claims and loose bytes.
CREATE TABLE pin_usage (
  account TEXT PRIMARY KEY,
  bytes   BIGINT NOT NULL
) WITHOUT ROWID;
