package web

import (
	"strconv"
	"time"
)

// RetryAfter is the value of a Retry-After header: whole seconds, at least one, behind
// a zero. ethers 6 takes a number that begins with 1 to 9 for milliseconds and soon gives
// up; it ignores one that begins with 0 and backs off by its own rules. Other clients read
// a decimal number, and RFC 9110 allows the zero.
func RetryAfter(d time.Duration) string { return "0" + strconv.FormatInt(Seconds(d), 10) }

// Seconds rounds a wait up to whole seconds, at least one.
func Seconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}
