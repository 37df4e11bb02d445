#!/usr/bin/env bash
# usage: translate.sh IN.cu OUT.cpp
# Rewrites kernel<<<…>>>(arguments) as a call of the emulator; all else stays as it is.
set -euo pipefail
{
  echo "#line 1 \"$1\""
  sed -z -E 's/([A-Za-z_][A-Za-z_0-9]*(<[A-Za-z_0-9, ]*>)?)<<<([^;]*)>>>\(/::emulation::Launch(\3)([](auto... emulated) { \1(emulated...); }, /g' "$1"
} >"$2"
