-- bench - what the tables share: options of the form name=value, lines of text, statistics.
local bench = {}

-- Puts the arguments into opt, which has all names that there are; an empty value leaves what is there.
function bench.options(who, opt)
    for _, a in ipairs(arg) do
        local k, v = a:match("^(%w+)=(.*)$")
        if not k or not opt[k] then error(who .. ": what is " .. a .. "?", 0) end
        if v ~= "" then opt[k] = v end
    end
end

function bench.say(...)
    print(string.format(...))
    io.stdout:flush()
end

function bench.split(text)
    local list = {}
    for w in text:gmatch("[^,%s]+") do list[#list + 1] = w end
    return list
end

function bench.median(v)
    local w = table.move(v, 1, #v, 1, {})
    table.sort(w)
    local n = #w
    return n % 2 == 1 and w[n // 2 + 1] or (w[n // 2] + w[n // 2 + 1]) / 2
end

function bench.geomean(v)
    local sum = 0
    for _, x in ipairs(v) do sum = sum + math.log(x) end
    return #v > 0 and math.exp(sum / #v) or 0 / 0
end

return bench
