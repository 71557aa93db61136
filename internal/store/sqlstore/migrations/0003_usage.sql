-- Usage by the minute, the hour and the day, one shape. The key's order serves a
-- query of one account over a time; the index on the time serves clearing away.

CREATE TABLE usage_minute (
  account   TEXT NOT NULL,
  at        BIGINT NOT NULL,
  key_id    TEXT NOT NULL,
  network   TEXT NOT NULL,
  method    TEXT NOT NULL,
  outcome   TEXT NOT NULL,
  requests  BIGINT NOT NULL,
  credits   BIGINT NOT NULL,
  bytes_in  BIGINT NOT NULL,
  bytes_out BIGINT NOT NULL,
  h00 BIGINT NOT NULL, h01 BIGINT NOT NULL, h02 BIGINT NOT NULL, h03 BIGINT NOT NULL,
  h04 BIGINT NOT NULL, h05 BIGINT NOT NULL, h06 BIGINT NOT NULL, h07 BIGINT NOT NULL,
  h08 BIGINT NOT NULL, h09 BIGINT NOT NULL, h10 BIGINT NOT NULL, h11 BIGINT NOT NULL,
  h12 BIGINT NOT NULL, h13 BIGINT NOT NULL, h14 BIGINT NOT NULL, h15 BIGINT NOT NULL,
  h16 BIGINT NOT NULL, h17 BIGINT NOT NULL, h18 BIGINT NOT NULL, h19 BIGINT NOT NULL,
  PRIMARY KEY (account, at, key_id, network, method, outcome)
) WITHOUT ROWID;
CREATE INDEX usage_minute_at ON usage_minute (at);

CREATE TABLE usage_hour (
  account   TEXT NOT NULL,
  at        BIGINT NOT NULL,
  key_id    TEXT NOT NULL,
  network   TEXT NOT NULL,
  method    TEXT NOT NULL,
  outcome   TEXT NOT NULL,
  requests  BIGINT NOT NULL,
  credits   BIGINT NOT NULL,
  bytes_in  BIGINT NOT NULL,
  bytes_out BIGINT NOT NULL,
  h00 BIGINT NOT NULL, h01 BIGINT NOT NULL, h02 BIGINT NOT NULL, h03 BIGINT NOT NULL,
  h04 BIGINT NOT NULL, h05 BIGINT NOT NULL, h06 BIGINT NOT NULL, h07 BIGINT NOT NULL,
  h08 BIGINT NOT NULL, h09 BIGINT NOT NULL, h10 BIGINT NOT NULL, h11 BIGINT NOT NULL,
  h12 BIGINT NOT NULL, h13 BIGINT NOT NULL, h14 BIGINT NOT NULL, h15 BIGINT NOT NULL,
  h16 BIGINT NOT NULL, h17 BIGINT NOT NULL, h18 BIGINT NOT NULL, h19 BIGINT NOT NULL,
  PRIMARY KEY (account, at, key_id, network, method, outcome)
) WITHOUT ROWID;
CREATE INDEX usage_hour_at ON usage_hour (at);

CREATE TABLE usage_day (
  account   TEXT NOT NULL,
  at        BIGINT NOT NULL,
  key_id    TEXT NOT NULL,
  network   TEXT NOT NULL,
  method    TEXT NOT NULL,
  outcome   TEXT NOT NULL,
  requests  BIGINT NOT NULL,
  credits   BIGINT NOT NULL,
  bytes_in  BIGINT NOT NULL,
  bytes_out BIGINT NOT NULL,
  h00 BIGINT NOT NULL, h01 BIGINT NOT NULL, h02 BIGINT NOT NULL, h03 BIGINT NOT NULL,
  h04 BIGINT NOT NULL, h05 BIGINT NOT NULL, h06 BIGINT NOT NULL, h07 BIGINT NOT NULL,
  h08 BIGINT NOT NULL, h09 BIGINT NOT NULL, h10 BIGINT NOT NULL, h11 BIGINT NOT NULL,
  h12 BIGINT NOT NULL, h13 BIGINT NOT NULL, h14 BIGINT NOT NULL, h15 BIGINT NOT NULL,
  h16 BIGINT NOT NULL, h17 BIGINT NOT NULL, h18 BIGINT NOT NULL, h19 BIGINT NOT NULL,
  PRIMARY KEY (account, at, key_id, network, method, outcome)
) WITHOUT ROWID;
CREATE INDEX usage_day_at ON usage_day (at);

-- The storage gateway's figures.
CREATE TABLE moved_bytes (
  account TEXT NOT NULL,
  month   BIGINT NOT NULL,
  bytes   BIGINT NOT NULL,
  PRIMARY KEY (account, month)
);

CREATE TABLE stored_bytes (
  account TEXT PRIMARY KEY,
  bytes   BIGINT NOT NULL
);

-- The batches that were counted already.
CREATE TABLE usage_writers (
  server TEXT NOT NULL,
  number BIGINT NOT NULL,
  at     BIGINT NOT NULL,
  PRIMARY KEY (server, number)
);
CREATE INDEX usage_writers_at ON usage_writers (at);
