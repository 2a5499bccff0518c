#!/bin/sh
# For rollouts that another program prints, such as the client of a bucket. Logs them, and prints the call ids if the service
# answers with some. Nothing is logged if the program fails. The exit code is that of the program, if it fails, or of rollcall.
#   examples/pipe.sh 'aws s3 cp s3://rollouts/run-7/step-17.jsonl.gz -' [option of rollcall log]...
set -eu
source=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# In a pipe, sh does not see that the program fails, and rollcall would log a part of its output.
sh -c "$source" > "$folder/input"
code=0
rollcall log my-model - --split train --rejects rejected.jsonl --json "$@" < "$folder/input" > "$folder/result" || code=$?
node - "$folder/result" <<'SCRIPT' || :
  const text = require("fs").readFileSync(process.argv[2], "utf8");
  for (const { body, body_bytes } of (text && JSON.parse(text).responses) || []) {
    if (Array.isArray(body?.call_ids)) for (const id of body.call_ids) console.log(id);
    if (body_bytes) console.error("The answers are too long, so the ids are not here.");
  }
SCRIPT
exit "$code"
