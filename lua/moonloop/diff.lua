-- diff - the lines in which two texts differ: a list of {sign, text}, sign " ", "-" or "+".
-- Longest common subsequence of the lines between the common beginning and end.
local function lines(text)
    local out = {}
    for line in (text .. "\n"):gmatch("(.-)\n") do out[#out + 1] = line end
    return out
end

local from, to = ...
local a, b = lines(from), lines(to)
local first, la, lb = 1, #a, #b
while first <= la and first <= lb and a[first] == b[first] do first = first + 1 end
while la >= first and lb >= first and a[la] == b[lb] do la, lb = la - 1, lb - 1 end

local n, m = la - first + 1, lb - first + 1
local best = {}
for i = n, 0, -1 do
    best[i] = {}
    for j = m, 0, -1 do
        if i == n or j == m then
            best[i][j] = 0
        elseif a[first + i] == b[first + j] then
            best[i][j] = best[i + 1][j + 1] + 1
        else
            best[i][j] = math.max(best[i + 1][j], best[i][j + 1])
        end
    end
end

local out = {}
for k = 1, first - 1 do out[#out + 1] = { " ", a[k] } end
local i, j = 0, 0
while i < n or j < m do
    if i < n and j < m and a[first + i] == b[first + j] then
        out[#out + 1] = { " ", a[first + i] }
        i, j = i + 1, j + 1
    elseif i < n and (j == m or best[i + 1][j] >= best[i][j + 1]) then
        out[#out + 1] = { "-", a[first + i] }
        i = i + 1
    else
        out[#out + 1] = { "+", b[first + j] }
        j = j + 1
    end
end
for k = la + 1, #a do out[#out + 1] = { " ", a[k] } end
return out
