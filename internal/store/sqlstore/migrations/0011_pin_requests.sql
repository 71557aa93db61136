-- What accounts have asked the pinning service for. leased is until when a server works
-- on a request, or lets it rest.

CREATE TABLE pin_requests (
  account  TEXT NOT NULL,
  id       TEXT NOT NULL,
  cid      TEXT NOT NULL,
  name     TEXT NOT NULL,
  origins  TEXT NOT NULL,
  meta     TEXT NOT NULL,
  status   TEXT NOT NULL,
  details  TEXT NOT NULL,
  replaces TEXT NOT NULL,
  created  BIGINT NOT NULL,
  leased   BIGINT NOT NULL,
  bytes    BIGINT NOT NULL,
  PRIMARY KEY (account, id)
) WITHOUT ROWID;
CREATE INDEX pin_requests_cid ON pin_requests (account, cid);
CREATE INDEX pin_requests_waiting ON pin_requests (account, created) WHERE status = 'queued' OR status = 'pinning';

-- How many requests an account has, how large they are, and when the newest was created.
CREATE TABLE pin_request_usage (
  account  TEXT PRIMARY KEY,
  requests BIGINT NOT NULL,
  bytes    BIGINT NOT NULL,
  newest   BIGINT NOT NULL
) WITHOUT ROWID;
