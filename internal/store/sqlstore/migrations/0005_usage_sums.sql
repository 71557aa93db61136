-- Sums of usage that pages read instead of every row: with the keys of an account
-- left out (key_id is ''), and with the methods left out (method is '', the outcome is
-- 'ok' or 'failed'). The shape is that of the rows themselves.

CREATE TABLE usage_minute_all (
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
CREATE INDEX usage_minute_all_at ON usage_minute_all (at);
INSERT INTO usage_minute_all SELECT account, at, '', network, method, outcome,
  SUM(requests), SUM(credits), SUM(bytes_in), SUM(bytes_out), SUM(h00), SUM(h01), SUM(h02), SUM(h03),
  SUM(h04), SUM(h05), SUM(h06), SUM(h07), SUM(h08), SUM(h09), SUM(h10), SUM(h11), SUM(h12), SUM(h13),
  SUM(h14), SUM(h15), SUM(h16), SUM(h17), SUM(h18), SUM(h19)
  FROM usage_minute GROUP BY account, at, network, method, outcome;

CREATE TABLE usage_minute_keys (
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
CREATE INDEX usage_minute_keys_at ON usage_minute_keys (at);
INSERT INTO usage_minute_keys SELECT account, at, key_id, network, '', CASE outcome WHEN 'ok' THEN 'ok' ELSE 'failed' END,
  SUM(requests), SUM(credits), SUM(bytes_in), SUM(bytes_out), SUM(h00), SUM(h01), SUM(h02), SUM(h03),
  SUM(h04), SUM(h05), SUM(h06), SUM(h07), SUM(h08), SUM(h09), SUM(h10), SUM(h11), SUM(h12), SUM(h13),
  SUM(h14), SUM(h15), SUM(h16), SUM(h17), SUM(h18), SUM(h19)
  FROM usage_minute GROUP BY account, at, key_id, network, CASE outcome WHEN 'ok' THEN 'ok' ELSE 'failed' END;

CREATE TABLE usage_hour_all (
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
CREATE INDEX usage_hour_all_at ON usage_hour_all (at);
INSERT INTO usage_hour_all SELECT account, at, '', network, method, outcome,
  SUM(requests), SUM(credits), SUM(bytes_in), SUM(bytes_out), SUM(h00), SUM(h01), SUM(h02), SUM(h03),
  SUM(h04), SUM(h05), SUM(h06), SUM(h07), SUM(h08), SUM(h09), SUM(h10), SUM(h11), SUM(h12), SUM(h13),
  SUM(h14), SUM(h15), SUM(h16), SUM(h17), SUM(h18), SUM(h19)
  FROM usage_hour GROUP BY account, at, network, method, outcome;

CREATE TABLE usage_hour_keys (
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
CREATE INDEX usage_hour_keys_at ON usage_hour_keys (at);
INSERT INTO usage_hour_keys SELECT account, at, key_id, network, '', CASE outcome WHEN 'ok' THEN 'ok' ELSE 'failed' END,
  SUM(requests), SUM(credits), SUM(bytes_in), SUM(bytes_out), SUM(h00), SUM(h01), SUM(h02), SUM(h03),
  SUM(h04), SUM(h05), SUM(h06), SUM(h07), SUM(h08), SUM(h09), SUM(h10), SUM(h11), SUM(h12), SUM(h13),
  SUM(h14), SUM(h15), SUM(h16), SUM(h17), SUM(h18), SUM(h19)
  FROM usage_hour GROUP BY account, at, key_id, network, CASE outcome WHEN 'ok' THEN 'ok' ELSE 'failed' END;

CREATE TABLE usage_day_all (
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
INSERT INTO usage_day_all SELECT account, at, '', network, method, outcome,
  SUM(requests), SUM(credits), SUM(bytes_in), SUM(bytes_out), SUM(h00), SUM(h01), SUM(h02), SUM(h03),
  SUM(h04), SUM(h05), SUM(h06), SUM(h07), SUM(h08), SUM(h09), SUM(h10), SUM(h11), SUM(h12), SUM(h13),
  SUM(h14), SUM(h15), SUM(h16), SUM(h17), SUM(h18), SUM(h19)
  FROM usage_day GROUP BY account, at, network, method, outcome;

CREATE TABLE usage_day_keys (
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
INSERT INTO usage_day_keys SELECT account, at, key_id, network, '', CASE outcome WHEN 'ok' THEN 'ok' ELSE 'failed' END,
  SUM(requests), SUM(credits), SUM(bytes_in), SUM(bytes_out), SUM(h00), SUM(h01), SUM(h02), SUM(h03),
  SUM(h04), SUM(h05), SUM(h06), SUM(h07), SUM(h08), SUM(h09), SUM(h10), SUM(h11), SUM(h12), SUM(h13),
  SUM(h14), SUM(h15), SUM(h16), SUM(h17), SUM(h18), SUM(h19)
  FROM usage_day GROUP BY account, at, key_id, network, CASE outcome WHEN 'ok' THEN 'ok' ELSE 'failed' END;
