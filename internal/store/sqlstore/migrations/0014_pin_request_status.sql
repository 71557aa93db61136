-- An account may have thousands of requests for one CID, most of them failed: whether one is
-- wanted must not take reading them all.

DROP INDEX pin_requests_cid;
CREATE INDEX pin_requests_cid_status ON pin_requests (account, cid, status);
