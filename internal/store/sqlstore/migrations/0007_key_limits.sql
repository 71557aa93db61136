-- The keys of an account are counted whenever it adds one, however many it revoked.
CREATE INDEX keys_account_live ON keys (account) WHERE revoked IS NULL;
CREATE INDEX keys_account_created ON keys (account, created);
