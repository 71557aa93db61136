package edge

import (
	"net/http"
	"strconv"
	"time"

	"github.com/nodegate/nodegate"
)

// What the answer's headers tell of the way that its calls took, on networks whose
// layers tell it: X-Cache, X-Verified, X-Head-Age, Server-Timing and, for who asks, X-Cache-Reason.

// cacheOrder is the order of the outcomes in the X-Cache of a batch.
var cacheOrder = [...]nodegate.CacheOutcome{nodegate.CacheLedger, nodegate.CacheHit, nodegate.CacheMiss, nodegate.CacheShared, nodegate.CacheBypass}

// appendCache writes the value of X-Cache: the outcome of a call, or how often a
// batch had each. Nothing is written where no cache was asked.
func appendCache(dst []byte, x *exchange) []byte {
	if len(x.traces) == 1 && !x.scan.Batch {
		return append(dst, x.traces[0].Cache.String()...)
	}
	var counts [nodegate.CacheOutcomes]int
	for i := range x.traces {
		counts[x.traces[i].Cache]++
	}
	start := len(dst)
	for _, o := range cacheOrder {
		if counts[o] == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, o.String()...), '=')
		dst = strconv.AppendInt(dst, int64(counts[o]), 10)
	}
	return dst
}

// levelOrder is the order of the levels in the X-Verified of a batch.
var levelOrder = [...]nodegate.Level{nodegate.LevelRoots, nodegate.LevelHeader, nodegate.LevelAgreed}

// appendVerified writes the value of X-Verified: how well the answer of a call was verified
// and how many nodes gave the hash of its block, or how often a batch had each level.
// Nothing is written of answers that are a node's word.
func appendVerified(dst []byte, x *exchange) []byte {
	if len(x.traces) == 1 && !x.scan.Batch {
		t := &x.traces[0]
		if t.Verified == nodegate.LevelNone {
			return dst
		}
		dst = append(append(dst, t.Verified.String()...), "; agreed="...)
		dst = strconv.AppendInt(dst, int64(t.Agreed), 10)
		if t.Checkpoint {
			dst = append(dst, "; checkpoint"...)
		}
		return dst
	}
	var counts [nodegate.Levels]int
	for i := range x.traces {
		counts[x.traces[i].Verified]++
	}
	start := len(dst)
	for _, l := range levelOrder {
		if counts[l] == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, l.String()...), '=')
		dst = strconv.AppendInt(dst, int64(counts[l]), 10)
	}
	return dst
}

// appendHeadAge writes the value of X-Head-Age: for how many seconds no node has reported the
// newest block that the answer is by; the longest of a batch. Nothing is written while nodes do.
func appendHeadAge(dst []byte, x *exchange) []byte {
	age := time.Duration(0)
	for i := range x.traces {
		age = max(age, x.traces[i].HeadAge)
	}
	if age == 0 {
		return dst
	}
	return strconv.AppendInt(dst, int64(age/time.Second), 10)
}

// appendTiming writes the value of Server-Timing. A batch has one time: its calls
// wait for nodes at the same time.
func appendTiming(dst []byte, x *exchange) []byte {
	dst = appendMillis(append(dst, "total;dur="...), x.took)
	if x.scan.Batch || len(x.traces) != 1 {
		return dst
	}
	t := &x.traces[0]
	if t.Node != "" {
		dst = appendMillis(append(dst, ", node;dur="...), t.Waited)
		dst = append(append(append(dst, `;desc="`...), shownText(t.Node, shownName)...), '"')
	}
	if t.Cache != nodegate.CacheNone {
		dst = append(append(dst, ", cache;desc="...), t.Cache.String()...)
	}
	return dst
}

// appendMillis writes milliseconds with three digits behind the point.
func appendMillis(dst []byte, d time.Duration) []byte {
	us := max(0, d.Microseconds())
	dst = strconv.AppendInt(dst, us/1000, 10)
	rest := us % 1000
	return append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// The most that is shown of a node's name and of a reason: the head of an answer
// has a fixed room.
const (
	shownName   = 40
	shownReason = 80
)

// shownText makes a text of the layers below fit for a header.
func shownText(s string, most int) string {
	s = s[:min(len(s), most)]
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return "?"
		}
	}
	return s
}

// setTold sets the headers on net/http's way.
func setTold(h http.Header, x *exchange, explain bool) {
	if len(x.traces) == 0 {
		return
	}
	if text := appendCache(nil, x); len(text) > 0 {
		h.Set("X-Cache", string(text))
	}
	if text := appendVerified(nil, x); len(text) > 0 {
		h.Set("X-Verified", string(text))
	}
	if text := appendHeadAge(nil, x); len(text) > 0 {
		h.Set("X-Head-Age", string(text))
	}
	h.Set("Server-Timing", string(appendTiming(nil, x)))
	if explain && !x.scan.Batch && x.traces[0].Reason != "" {
		h.Set("X-Cache-Reason", shownText(x.traces[0].Reason, shownReason))
	}
}

// appendTold writes the same headers on the short way, which nobody takes who asks
// for an explanation.
func appendTold(h []byte, x *exchange) []byte {
	if len(x.traces) == 0 {
		return h
	}
	h = appendUnlessEmpty(h, "\r\nX-Cache: ", x, appendCache)
	h = appendUnlessEmpty(h, "\r\nX-Verified: ", x, appendVerified)
	h = appendUnlessEmpty(h, "\r\nX-Head-Age: ", x, appendHeadAge)
	return appendTiming(append(h, "\r\nServer-Timing: "...), x)
}

// appendUnlessEmpty writes a header whose value may turn out to be nothing.
func appendUnlessEmpty(h []byte, name string, x *exchange, value func([]byte, *exchange) []byte) []byte {
	out := append(h, name...)
	bare := len(out)
	if out = value(out, x); len(out) == bare {
		return h
	}
	return out
}
