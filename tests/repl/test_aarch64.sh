#!/bin/bash
# Kernels saved for aarch64 compute under qemu-user what they compute here, where that is installed.
# Source: lowering-and-codegen 7.7, 13.
exec bash scripts/test-aarch64.sh "$MOONLOOP"
