// Package accounts holds the control plane: account (sign-in, keys, cards, plans), auth (API
// keys of requests), credential (how keys and secrets are stored), ratelimit, usage,
// requestlog, and alert, mailer and payment for what leaves the server. It imports neither
// of the other planes. Start reading at account, or at auth for the path of a request.
package accounts
