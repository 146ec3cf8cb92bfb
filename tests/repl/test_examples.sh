#!/usr/bin/env bash
# test_examples - the schedules of examples/ that check themselves run to their end.
set -u

runs() { # name of the test, script, what it must say
    local out
    # shellcheck disable=SC2086 # a script and its arguments
    if out=$("$MOONLOOP" -b examples/$2 2>&1) && printf '%s\n' "$out" | grep -qE "$3"; then
        echo "ok $1"
    else
        printf '%s\n' "$out" | tail -20
        echo "not ok $1"
    fi
}

runs a_tile_becomes_a_dot_product_of_bytes tensorize_vnni.lua '^ok: 13 steps'
runs an_instruction_is_taught_from_lua own_intrinsic.lua '^ok: 5 steps'
runs a_dot_product_is_summed_in_parts rfactor.lua '^ok: 8 steps'
runs a_convolution_takes_other_layouts conv_layout.lua '^ok: padded channels, 10 steps'
runs a_rule_of_ones_own_wins "own_rule.lua 7 256" '^by turns: .* times as fast'
runs one_kernel_for_several_sizes "shapes.lua 8 64" '^over by hand, sizes that it was tuned for: .* times as fast'

# Schedules by hand: computed right, and set against the machine's bound and the draft.
hand="gemm_int8 conv2d depthwise softmax layer_norm attention transpose"
[ -z "${ML_QUICK:-}" ] || hand="gemm_int8 attention"
for name in $hand; do
    runs "${name}_is_scheduled_by_hand" $name.lua '^by hand .* (of the bound|bound is not known)'
done
runs a_product_of_bytes_without_the_instruction "gemm_int8.lua plain" '^no dot product of bytes'
