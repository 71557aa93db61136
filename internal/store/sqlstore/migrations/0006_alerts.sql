-- Who sends which alert: leased is the end of a claim, null once the alert was sent.

CREATE TABLE alerts (
  account TEXT NOT NULL,
  day     BIGINT NOT NULL,
  percent BIGINT NOT NULL,
  leased  BIGINT,
  PRIMARY KEY (account, day, percent)
) WITHOUT ROWID;
CREATE INDEX alerts_day ON alerts (day);

-- The latest entries about one account.
CREATE INDEX audit_account ON audit (account, number);
