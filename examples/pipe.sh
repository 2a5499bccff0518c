#!/bin/sh
# Logs the output of another program, such as the client of a bucket, and prints the call ids of up to 64 KiB of answers:
#   examples/pipe.sh 'aws s3 cp s3://rollouts/run-7/step-17.jsonl.gz -' [option of rollcall log]...
set -eu
source=$1
shift
sh -c "$source" | rollcall log my-model --split train --rejects rejected.jsonl --json "$@" |
  node -e 'for (const { body } of JSON.parse(require("fs").readFileSync(0)).responses) console.log(body?.call_ids.join("\n") ?? "see rollcall ledger calls")'
