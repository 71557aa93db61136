-- The dashboard lists an account's keys in pages, live ones first, then newest first.
CREATE INDEX keys_account_page ON keys (account, (CASE WHEN revoked IS NULL THEN 0 ELSE 1 END), COALESCE(created, 0) DESC, id DESC);
