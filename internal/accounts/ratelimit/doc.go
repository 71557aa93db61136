// Package ratelimit enforces the limits of accounts and keys: credits per second, in a
// token bucket, and credits per day.
//
// A request that passes Admit has paid. What fails on our side gets it back by
// Refund; a refused request pays a little by Charge.
//
// # One server
//
// Each account has a bucket and a counter for the day, and so has each of its keys
// where the key has limits of its own. All of an account is under one lock, so a
// request takes from all of them or from none. The buckets count whole credits and
// billionths in integers: over any time T at most rate x T + burst is admitted,
// exactly, and a bucket regains exactly its rate. They follow the monotonic clock;
// only the day follows the wall clock, and only forwards. Limits are read at each
// call from the grant's policy, so a new plan holds at once. What is full again and
// has nothing counted for today is dropped.
//
// # Several servers
//
// With a Shared limiter every server still asks its own buckets first. In addition
// it needs leased credits: a lease is 100 ms worth of the rate (or the cost of one
// request, when that is more; never more than a 10,000th of the day's credits), is
// fetched again when half of it is used, and never sits on a server beyond its
// size. So N servers together admit at most
//
//	rate x T + burst + N x 100 ms x rate
//
// over any time T, and pass the credits of a day by at most N leases, which were
// taken just before midnight. Charges of refused requests and refunds are reported
// with the next lease, at the latest after 5 seconds.
//
// No request waits for the shared limiter longer than 150 ms. When it does not
// answer in time or fails, each server goes on with its own buckets alone, from what
// the shared one held at the last answer: N servers then admit up to N times what
// it held, of the bucket and of the day, and N times the rate. A probe every 250 ms
// finds the shared limiter again, and what was used meanwhile is reported to it: all
// of it for the day, at most one burst for the bucket. A report whose fate is unknown
// counts as delivered: at worst a customer gets the credits of one report more, never
// less.
//
// A shared limiter that comes back without its memory learns the day from what the
// servers saw last; its buckets are full again. Each count has a random incarnation,
// which comes with every lease. A server that asks with another one has seen a count
// that was lost: what it saw is added to what was used since, as far as another
// server hasn't told it already. Whoever asks first may have seen nothing: the rest
// is counted when the others ask. A refund is never undone by it, because a server
// adopts the new incarnation with the answer. The number of asks comes along, too: a
// shared limiter that comes back with an older count, of a snapshot or a replica, had
// fewer of them than a server has seen, and gives the count a new incarnation.
package ratelimit
