package redisstore

// takeScript takes credits of one bucket and of its day. It is the rate limiter's bucket
// again, in millionths instead of billionths: Lua's numbers are exact below 2^53.
//
// KEYS: the bucket. ARGV: rate, burst, credits a day, need, want, owed, the asker's
// day, what it knows that it spent on it, what it saw that all did, in which incarnation of the
// count and after how many asks, and a random number for a new incarnation. A zero limit is none.
//
// A bucket gets an incarnation when it is created. An asker that saw another one knows of a count
// that Redis has lost: what it saw then and what was spent since make up the day. Several of them
// saw the same count, the last one the most of it, so base holds how much of it is in spent already.
// In the same incarnation the count can be below what somebody saw, by refunds, and stays. But if
// it had fewer asks than somebody saw, it is an older copy, of a snapshot or of a replica that was
// promoted: then it gets a new incarnation.
const takeScript = `
local rate, burst, perday = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local need, want, owed = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local time = redis.call('TIME')
local sec, usec = tonumber(time[1]), tonumber(time[2])
local today = math.floor(sec / 86400)
local function int(n) return string.format('%.0f', n) end

local h = redis.call('HMGET', KEYS[1], 'used', 'part', 'sec', 'usec', 'day', 'spent', 'incarnation', 'base', 'asks')
local used, part = tonumber(h[1] or 0), tonumber(h[2] or 0)
local day, spent = tonumber(h[5] or today), tonumber(h[6] or 0)
local incarnation, base, asks = tonumber(h[7] or 0), tonumber(h[8] or 0), tonumber(h[9] or 0)
if day < today then day, spent, base = today, 0, 0 end
local older = incarnation == tonumber(ARGV[10]) and asks < tonumber(ARGV[11])
if incarnation == 0 or older then incarnation, base = tonumber(ARGV[12]), spent end
asks = asks + 1

-- The day's count, at least what the asker knows of it.
local known, seen = tonumber(ARGV[7]) == day, tonumber(ARGV[9])
if known and tonumber(ARGV[10]) ~= incarnation and seen > base then spent, base = spent + seen - base, seen end
spent = math.max(spent + owed, 0)
local missing = tonumber(ARGV[8]) - spent
if known and missing > 0 then spent, base = spent + missing, base + missing end

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
  redis.call('HSET', KEYS[1], 'used', int(used), 'part', int(part), 'sec', int(sec), 'usec', int(usec),
    'day', int(day), 'spent', int(spent), 'incarnation', int(incarnation), 'base', int(base), 'asks', int(asks))
  local keep = 86400 - sec % 86400 + 60
  if rate > 0 then keep = math.max(keep, math.ceil(used / rate) + 1) end
  redis.call('EXPIRE', KEYS[1], int(math.min(keep, 366 * 86400)))
else
  redis.call('DEL', KEYS[1])
  incarnation, asks = 0, 0
end
return {grant, rest, day, spent, incarnation, asks}
`
