-- apply-custom-rule - a block that names its rule gets that one, and no other.
--
-- custom: registered rules by target key and name, {[key] = {[name] = apply}}. Source: auto-scheduler 6.1.
local _, core = ...

return function(custom)
    return function(s, block, target)
        local name = core.block_view(s, s:handle(block)).annotations.schedule_rule
        if type(name) ~= "string" or name == "None" then return { s } end
        for _, key in ipairs(target.keys or { "cpu" }) do
            local apply = custom[key] and custom[key][name]
            if apply then return apply(s, block, target) end
        end
        target.warn(("block %s asks for the rule %s, which nobody registered for %s"):format(
            s:handle(block).name, name, table.concat(target.keys or { "cpu" }, ", ")))
        s:unannotate(block, "schedule_rule")
        return { s }
    end
end
