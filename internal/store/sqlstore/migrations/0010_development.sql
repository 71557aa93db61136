-- Which accounts have the scope development. Accounts that exist don't get it: their keys
-- may be in web pages, and an upgrade never lets a key do more.
ALTER TABLE accounts ADD COLUMN development BOOLEAN NOT NULL DEFAULT FALSE;
