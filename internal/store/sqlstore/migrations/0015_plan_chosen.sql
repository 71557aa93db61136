-- When a member last chose the account's plan. They may do so once an hour.
ALTER TABLE accounts ADD COLUMN plan_chosen BIGINT;
