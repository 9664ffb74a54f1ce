-- Mixed reads over paths given in the file PATHS, one a line, each with its share of the requests.
local paths = {}
for line in io.lines(os.getenv("PATHS")) do paths[#paths + 1] = line end
local number = 0
function setup(thread) number = number + 1; thread:set("first", number * 7919) end
function init(args) math.randomseed(first) end
function request() return wrk.format("GET", paths[math.random(#paths)]) end
function delay() return tonumber(os.getenv("DELAY")) * (0.5 + math.random()) end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %.0f %.0f %.0f %.0f\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.timeout + e.status, latency:percentile(50), latency:percentile(95),
    latency:percentile(99), latency.max))
end
