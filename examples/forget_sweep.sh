#!/usr/bin/env bash
# Puts old facts, reads what a sweep would do to them, and lets it do exactly that: with curl.
#
# Needs a running daemon (`forgetd serve`) and FORGETD_SOCKET, the path of its socket:
#
#     FORGETD_SOCKET=/path/to/forgetd.sock examples/forget_sweep.sh
#
# The facts go into a new namespace.
set -euo pipefail

: "${FORGETD_SOCKET:?set it to the path of the socket}"
namespace="sweep-example-$(date +%s)-$$"

# rpc METHOD PARAMS: prints the indented reply; fails on an error reply.
rpc() {
  local reply
  reply=$(curl --silent --show-error --max-time 60 --unix-socket "$FORGETD_SOCKET" \
    --header 'content-type: application/json' \
    --data "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"$1\", \"params\": $2}" \
    http://forgetd/rpc | python3 -m json.tool)
  if grep --quiet '^    "error": {' <<<"$reply"; then
    printf '%s failed:\n%s\n' "$1" "$reply" >&2
    return 1
  fi
  printf '%s\n' "$reply"
}

# field NAME: the first text with this name in an indented reply.
field() {
  grep --max-count=1 "^ *\"$1\": " | cut -d '"' -f 4
}

created_at=$((($(date +%s) - 300 * 86400) * 1000))
memories=''
for number in $(seq 10 39); do
  memories+="${memories:+, }{\"id\": \"fact-$number\", \"content\": \"Fact number $number\","
  memories+=" \"importance\": 0.$number, \"createdAt\": $created_at}"
done
rpc memory.putMany "{\"namespace\": \"$namespace\", \"memories\": [$memories]}" >/dev/null

# Lowering a threshold makes automatic forgetting wait for an hour; a call need not wait.
rpc thresholds.set \
  "{\"namespace\": \"$namespace\", \"thresholds\": {\"forgetThresholdTotal\": 25}}" >/dev/null

plan=$(rpc forgetSweep "{\"namespace\": \"$namespace\", \"dryRun\": true}")
plan_id=$(field planId <<<"$plan")
echo "The plan $plan_id would change these:"
grep --extended-regexp '^ {16}"(id|action|reason|strength)":' <<<"$plan"

run=$(rpc forgetSweep "{\"namespace\": \"$namespace\", \"planId\": \"$plan_id\"}")
echo "The run $(field runId <<<"$run") moved:"
sed -n '/^        "counts": {/,/}/p' <<<"$run"
