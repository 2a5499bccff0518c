#!/bin/sh
# For a program that depends on models of the router catalog. Fails if one of them is gone, ends within 30 days, or costs
# at least 10 % more than in a saved list, and names the reasons. A price that is gone or is not a number is a reason, too.
#   rollcall catalog router --json > saved.json
#   examples/catalog-guard.sh saved.json <model-id>...
set -eu
saved=$1
shift
current=$(mktemp)
trap 'rm -f "$current"' EXIT
rollcall catalog router --json > "$current"
reasons=$(jq -nr --slurpfile old "$saved" --slurpfile new "$current" '
  ($old[0].data | INDEX(.id)) as $old | ($new[0].data | INDEX(.id)) as $new | $ARGS.positional[] as $id
  | if $old[$id] == null then "\($id) is not in the saved list" elif $new[$id] == null then "\($id) is gone" else
      ($new[$id].deprecation_date // empty
        | select((test("^\\d{4}-\\d\\d-\\d\\d") | not) or .[:10] <= (now + 30 * 86400 | todate[:10])) | "\($id) ends on \(.)"),
      ($old[$id].pricing + $new[$id].pricing // {} | keys[] as $price
        | $old[$id].pricing[$price] as $was | $new[$id].pricing[$price] as $is
        | select($was != $is and ($is | tonumber? // infinite) > ($was | tonumber? // 0) * 1.0999999)
        | "\($id) has the price \($price) \($is), and had \($was)")
    end' --args "$@")
[ -z "$reasons" ] || { printf '%s\n' "$reasons" >&2; exit 1; }
