package redisstore

// takeScript takes credits of one bucket and of its day. It is the rate limiter's bucket
// again, in millionths instead of billionths: Lua's numbers are exact below 2^53.
//
// KEYS: the bucket. ARGV: rate, burst, credits a day, need, want, owed, the asker's
// day, what it knows that it spent on it, and what it saw that all did. A zero limit is none.
//
// A bucket that isn't there while somebody has seen credits of today spent was lost with Redis's
// memory. It is marked as lost until the day ends, and learns the most that anybody has seen: the
// first to ask may have seen less than others. In a bucket that was never lost the count can be
// below what somebody saw, by refunds, and stays.
const takeScript = `
local rate, burst, perday = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local need, want, owed = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local time = redis.call('TIME')
local sec, usec = tonumber(time[1]), tonumber(time[2])
local today = math.floor(sec / 86400)

local h = redis.call('HMGET', KEYS[1], 'used', 'part', 'sec', 'usec', 'day', 'spent', 'lost')
local used, part = tonumber(h[1] or 0), tonumber(h[2] or 0)
local day, spent = tonumber(h[5] or today), tonumber(h[6] or 0)
local known, seen = tonumber(ARGV[7]) == today, tonumber(ARGV[9])
local lost = h[7] and tonumber(h[7]) == today or not h[5] and known and seen > 0
if day < today then day, spent = today, 0 end
if lost and known then spent = math.max(spent, seen) end

-- Regain what the time since the last use is worth: credits and millionths.
local passed = sec - tonumber(h[3] or sec)
local upart = usec - tonumber(h[4] or usec)
if upart < 0 then passed, upart = passed - 1, upart + 1000000 end
if passed < 0 then
  sec, usec = tonumber(h[3]), tonumber(h[4]) -- the clock was set back
elseif rate > 0 then
  part = part + rate * upart
  local gained = math.floor(part / 1000000)
  part = part % 1000000
  if passed >= used / rate then gained = used else gained = gained + rate * passed end
  if gained >= used then used, part = 0, 0 else used = used - gained end
end

spent = math.max(spent + owed, 0)
if tonumber(ARGV[7]) == day then spent = math.max(spent, tonumber(ARGV[8])) end
local rest, grant = 0, want
if rate > 0 then
  used = math.min(math.max(used + owed, 0), burst)
  rest = burst - used
  grant = math.min(grant, rest)
end
if perday > 0 then grant = math.min(grant, math.max(perday - spent, 0)) end
if grant < need then grant = 0 end
spent = spent + grant
if rate > 0 then used, rest = used + grant, rest - grant end

if used > 0 or spent > 0 or h[5] then
  redis.call('HSET', KEYS[1], 'used', string.format('%.0f', used), 'part', string.format('%.0f', part),
    'sec', string.format('%.0f', sec), 'usec', string.format('%.0f', usec), 'day', string.format('%.0f', day), 'spent', string.format('%.0f', spent))
  if lost then redis.call('HSET', KEYS[1], 'lost', string.format('%.0f', today)) end
  local keep = 86400 - sec % 86400 + 60
  if rate > 0 then keep = math.max(keep, math.ceil(used / rate) + 1) end
  redis.call('EXPIRE', KEYS[1], string.format('%.0f', math.min(keep, 366 * 86400)))
else
  redis.call('DEL', KEYS[1])
end
return {grant, rest, day, spent}
`
