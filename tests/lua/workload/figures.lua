-- Every workload has the operations and bytes of the specification's tables, and its unscheduled program counts the same.
local w = moon.workload

local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- name -> millions of operations and KiB, to the digits that the tables print
local figures = {
    ["C1D-0"] = "6.29 224", ["C1D-1"] = "4.19 256", ["C1D-2"] = "41.94 1408", ["C1D-3"] = "50.33 3200",
    ["C2D-0"] = "236.0 3761", ["C2D-1"] = "25.69 1584", ["C2D-2"] = "231.2 2696", ["C2D-3"] = "231.2 9412",
    ["C3D-0"] = "13218 34753", ["C3D-1"] = "411.0 25104", ["C3D-2"] = "11098 13184", ["C3D-3"] = "11098 30784",
    ["GRP-0"] = "28.90 1248", ["GRP-1"] = "6.42 1572", ["GRP-2"] = "57.80 968", ["GRP-3"] = "57.80 2500",
    ["DIL-0"] = "223.6 3595", ["DIL-1"] = "25.69 1584", ["DIL-2"] = "169.9 2644", ["DIL-3"] = "118.0 9364",
    ["CBR-0"] = "239.2 3762", ["CBR-1"] = "116.0 1466", ["CBR-2"] = "13.05 719", ["CBR-3"] = "231.3 9418",
    ["DEP-0"] = "7.23 3137", ["DEP-1"] = "3.61 3922", ["DEP-2"] = "0.45 508", ["DEP-3"] = "0.90 428",
    ["T2D-0"] = "268.4 8288", ["T2D-1"] = "268.4 2240", ["T2D-2"] = "268.4 896", ["T2D-3"] = "25.17 316",
    ["GMM-0"] = "4.19 192", ["GMM-1"] = "16.78 1152", ["GMM-2"] = "268.4 3072", ["GMM-3"] = "2147.5 12288",
    ["CAP-0"] = "75.50 1216", ["CAP-1"] = "75.50 832", ["CAP-2"] = "9.44 264", ["CAP-3"] = "18.87 272",
    ["NRM-0"] = "0.13 256", ["NRM-1"] = "0.52 1024", ["NRM-2"] = "2.10 4096", ["NRM-3"] = "8.39 16384",
    ["SFM-0"] = "0.26 512", ["SFM-1"] = "1.05 2048", ["SFM-2"] = "4.19 8192", ["SFM-3"] = "16.78 32768",
    ["TBG-0"] = "25.17 1536", ["TBG-1"] = "33.55 2048", ["TBG-2"] = "12.58 960", ["TBG-3"] = "50.33 2304",
    ["LNM-0"] = "1.05 1032", ["LNM-1"] = "3.15 3080", ["LNM-2"] = "1.21 1188", ["LNM-3"] = "134.2 131104",
    ["DBR-0"] = "1074.8 18960", ["DBR-1"] = "604.8 11148", ["DBR-2"] = "269.0 3074", ["DBR-3"] = "2149.6 12292",
    ["BMM-0"] = "25.17 1536", ["BMM-1"] = "302.0 12288", ["BMM-2"] = "302.0 12288", ["BMM-3"] = "402.7 24576",
    ["ATT-0"] = "51.31 1536", ["ATT-1"] = "615.8 6144", ["ATT-2"] = "121.5 2364", ["ATT-3"] = "69391 131072",
    ["GEL-0"] = "2.10 4096",
    ["SUMR-0"] = "16.78 65552", ["SUMR-1"] = "4.19 16384",
    ["SUMC-0"] = "16.78 65552", ["SUMC-1"] = "4.19 16384",
    ["SUMA-0"] = "16.78 65536",
    ["ARG-0"] = "51.46 201036",
    ["CUM-0"] = "4.19 32768",
    ["CUB-0"] = "8.39 32768",
    ["MXP-0"] = "1.81 3920",
    ["AVP-0"] = "0.10 400",
    ["ADD-0"] = "16.78 196608",
    ["TRN-0"] = "0.00 131072", ["TRN-1"] = "0.00 23438",
    ["QMM-0"] = "151.0 1056", ["QMM-1"] = "604.0 3936", ["QMM-2"] = "268.4 1536", ["QMM-3"] = "2147.5 6144",
    ["QMM-4"] = "25.69 984", ["QMM-5"] = "4.10 2006",
    ["QCV-0"] = "231.2 1016", ["QCV-1"] = "102.8 3348", ["QCV-2"] = "231.2 634", ["QCV-3"] = "231.2 821",
    ["QCV-4"] = "231.2 2426",
    ["CONV-1"] = "231.2 1712", ["CONV-2"] = "231.2 1360", ["CONV-3"] = "231.2 2696", ["CONV-4"] = "231.2 9412",
    ["DWCONV-1"] = "7.23 3137", ["DWCONV-2"] = "7.23 3140", ["DWCONV-3"] = "3.61 1577", ["DWCONV-4"] = "1.81 802",
    ["MM-64"] = "0.52 48", ["MM-128"] = "4.19 192", ["MM-256"] = "33.55 768", ["MM-512"] = "268.4 3072",
    R1 = "236.0 3761", R2 = "25.7 1584", R3 = "231.2 1712", R4 = "102.8 3984", R5 = "102.8 3984", R6 = "205.5 4832",
    R7 = "231.2 2536", R8 = "102.8 2216", R9 = "205.5 5216", R10 = "102.8 2216", R11 = "231.2 1360",
    R12 = "205.5 2864", R13 = "231.2 3284", R14 = "102.8 2004", R15 = "205.5 4400", R16 = "102.8 2004",
    R17 = "231.2 2696", R18 = "205.5 3224", R19 = "231.2 9706", R20 = "102.8 4586", R21 = "205.5 9368",
    R22 = "102.8 4586", R23 = "231.2 9412",
    M1 = "21.68 2159", M2 = "7.23 3137", M3 = "12.85 2354", M4 = "38.54 5494", M5 = "5.42 5883", M6 = "14.45 1479",
    M7 = "21.68 2072", M8 = "8.13 3533", M9 = "21.68 2072", M10 = "2.03 2210", M11 = "7.23 557", M12 = "9.63 710",
    M13 = "2.71 1183", M14 = "9.63 710", M15 = "0.68 741.8", M16 = "4.82 244", M17 = "9.63 439", M18 = "1.35 601.5",
    M19 = "9.63 439", M20 = "14.45 511.5", M21 = "21.68 730.5", M22 = "2.03 902.2", M23 = "21.68 730.5",
    M24 = "0.51 571.5", M25 = "9.03 500.9", M26 = "15.05 814.4", M27 = "0.85 401.2", M28 = "15.05 814.4",
    M29 = "30.11 1445", M30 = "40.14 1906",
    B1 = "268.4 5120", ["B1.s384"] = "805.3 7168", B2 = "33.6 2048", ["B2.s384"] = "302.0 12288", B3 = "33.6 2048",
    ["B3.s384"] = "302.0 12288", B4 = "1073.7 18944", ["B4.s384"] = "3221.2 24064", B5 = "1073.7 18944",
    ["B5.s384"] = "3221.2 24064", B6 = "2.1 4104", ["B6.s384"] = "2.1 4104",
    V1 = "231.2 3480", V2 = "232.4 3486", V3 = "59.6 3001", V4 = "59.6 3001", V5 = "929.6 12171", V6 = "929.6 12171",
    V7 = "1.5 3007",
    ["WIN-0"] = "18.87 772",
}

-- Half a unit of the last digit.
local function within(value, text)
    local decimals = #(text:match("%.(%d+)$") or "")
    return math.abs(value - tonumber(text)) <= 0.5001 * 10.0 ^ -decimals
end

test("operations and KiB are those of the tables", function()
    local seen = {}
    for id, text in pairs(figures) do
        local mflop, kib = text:match("^(%S+) (%S+)$")
        local m = w(id)
        assert(m.id == id)
        assert(within(m.flop / 1e6, mflop), ("%s: %.4f MFLOP, not %s"):format(id, m.flop / 1e6, mflop))
        assert(within(m.bytes / 1024, kib), ("%s: %.2f KiB, not %s"):format(id, m.bytes / 1024, kib))
        seen[id] = true
    end
    for _, id in ipairs(w.list()) do assert(seen[id], id .. " has no figures") end
end)

test("what is counted from a program is its nominal number, its padding inlined or not", function()
    local inlined = 0
    for _, id in ipairs(w.list(nil, true)) do
        for _, suffix in ipairs { "", ".f16", ".i8" } do
            local ok, m = pcall(w, id .. suffix)
            -- of Winograd's form only the products are nominal, not the transformations; of the scan by blocks not
            -- that of their sums
            local nominal = not id:find("WIN", 1, true) and not id:find("CUB", 1, true)
            if ok then
                local s = moon.schedule(m)
                local before = s:flops()
                assert(not nominal or before == m.flop, ("%s: %s of %s"):format(m.id, before, m.flop))
                local padded = pcall(s.compute_inline, s, "Xp") or pcall(s.compute_inline, s, "D")
                inlined = inlined + (padded and 1 or 0)
                assert(s:flops() == before, ("%s: %s becomes %s"):format(m.id, before, s:flops()))
                local sum = 0
                for _, l in ipairs(s:counts()) do
                    if l.depth == 0 then sum = sum + l.flop end
                end
                assert(not nominal or sum == before, ("%s: loops sum to %s of %s"):format(m.id, sum, before))
            else
                assert(suffix ~= "" and (m.message:find("a float dtype is needed", 1, true) or id:find("^Q")), id .. suffix .. ": " .. tostring(m))
            end
        end
    end
    assert(inlined > 80, inlined)
end)

return tests
