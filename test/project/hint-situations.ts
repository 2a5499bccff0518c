/** Failures with hints, and scripts that follow each hint. */

/** A script that follows a hint, and a script that exits with 0 if this helped; `.out` has the output of the first. */
export type Help = readonly [script: string, state: string];

/** A failure: a script that causes it, and scripts that follow its hint. */
export interface Situation {
  readonly before?: string;
  readonly fails: string;
  readonly helps: readonly Help[];
  /** The exit code after help. Default: 0. */
  readonly ends?: number;
  /** Options that the hint says to omit, or that another test tries. */
  readonly drops?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const log = "rollcall log m good.jsonl --split train --local";
/** Writes the id of the first call to a file. */
const trace = `${log} --json | sed 's/.*"call_ids":\\["\\([^"]*\\).*/\\1/' > id`;
const call = "$(cat id)";

/** Exits with 0 if the output contains a text. */
const says = (text: string): string => `grep -qF -- '${text}' .out`;

/** Exits with 0 if both groups of the file are logged once. */
const isLogged = "rollcall ledger verify good.jsonl --model m --split train --local";

/** Every reason whose hint names a command, an option or a variable, if one user on one machine can cause it. */
export const situations: Readonly<Record<string, Situation>> = {
  "invalid-arguments": {
    fails: "rollcall models --no-such-thing-at-all",
    helps: [["rollcall models --help", says("--sort")]],
  },
  "current-folder-deleted": {
    fails: "mkdir gone && cd gone && rmdir ../gone && ROLLCALL_CONFIG_DIR=conf rollcall check",
    helps: [["ROLLCALL_CONFIG_DIR=conf rollcall check good.jsonl", says("valid")]],
  },
  "setting-missing": {
    fails: "ROLLCALL_BASE_URL= rollcall call read x --project a/b",
    helps: [
      ["rollcall config list --base-url $URL", says("--base-url")],
      ["ROLLCALL_BASE_URL=$URL rollcall config list", says("ROLLCALL_BASE_URL")],
      ["rollcall config set base_url $URL", 'rollcall config list | grep -qF "$URL"'],
      [`${trace}; rollcall call read ${call} --local`, says("rollcall.log")],
    ],
    env: { ROLLCALL_API_KEY: "$KEY" },
  },
  "setting-unknown": {
    fails: "rollcall config set xyzxyz 1",
    helps: [["rollcall config list", says("max_request_size")]],
  },
  "unknown-profile": {
    fails: "rollcall models --profile zzz",
    helps: [
      [
        "rollcall auth login --profile zzz --with-token --base-url $URL --inference-base-url $URL < key",
        "rollcall models --profile zzz",
      ],
    ],
  },
  "login-key-missing": {
    fails: "rollcall auth login --inference-base-url $URL </dev/null",
    helps: [["rollcall auth login --inference-base-url $URL --with-token < key", "rollcall models"]],
  },
  "login-refused": {
    fails: "echo wrong | rollcall auth login --with-token --inference-base-url $URL",
    helps: [
      ["echo bad | rollcall auth login --with-token --base-url $URL --no-check", "rollcall auth status --project a/b"],
    ],
  },
  "credential-missing": {
    fails: "rollcall models --inference-base-url $URL",
    helps: [
      ["rollcall auth login --with-token --for inference --inference-base-url $URL < key", "rollcall models"],
      ["ROLLCALL_API_KEY=$KEY rollcall models --inference-base-url $URL", "! rollcall auth status"],
    ],
  },
  "credential-refused": {
    before:
      "echo wrong-key-1234 | rollcall auth login --with-token --no-check --for inference --inference-base-url $URL",
    fails: "rollcall models --inference-base-url $URL",
    helps: [
      ["rollcall auth login --with-token --inference-base-url $URL < key", "rollcall models --project a/b"],
      ["rollcall auth login --for inference --with-token < key", "rollcall models"],
    ],
  },
  "credential-wrong-origin": {
    before: "rollcall auth login --with-token --inference-base-url $URL < key",
    fails: "rollcall models --inference-base-url https://other.example",
    helps: [
      [
        "rollcall auth login --with-token --no-check --profile other --inference-base-url https://other.example < key",
        "rollcall auth status --profile other | grep -q 'inference.*https://other.example' && rollcall models",
      ],
      ["rollcall models", "rollcall auth status"],
    ],
  },
  "credential-over-http": {
    fails: "rollcall models --inference-base-url http://service.invalid --max-wait 0s",
    helps: [
      [
        "rollcall models --inference-base-url http://service.invalid --max-wait 0s --insecure-http",
        says("through the proxy"),
      ],
    ],
    // The request goes to a proxy that does not listen.
    env: { ROLLCALL_API_KEY: "$KEY", HTTP_PROXY: "http://127.0.0.1:1" },
    ends: 5,
  },
  "missing-split": {
    fails: "rollcall log m good.jsonl --local",
    helps: [
      [log, isLogged],
      ["ROLLCALL_SPLIT=train rollcall log m good.jsonl --local", isLogged],
      ["rollcall config set split train --profile local && rollcall log m good.jsonl --local", isLogged],
    ],
  },
  "convert-rejected": {
    before: `echo '{"example_id":1,"prompt":"a","completion":"b","answer":"b","reward":1}' > results.jsonl; cp results.jsonl part.jsonl; echo '{"example_id":2,"reward":1}' >> part.jsonl`,
    fails: "rollcall convert part.jsonl --out groups.jsonl --on-invalid skip",
    helps: [["rollcall convert results.jsonl --out all.jsonl --on-invalid skip", "test $(wc -l < all.jsonl) = 1"]],
  },
  "output-exists": {
    before: "echo mine > page.html",
    fails: "rollcall view good.jsonl --html page.html",
    helps: [
      ["rollcall view good.jsonl --html other.html", "grep -q '<html' other.html && test $(cat page.html) = mine"],
    ],
  },
  "not-confirmed": {
    before: "rollcall config set split train --profile a --create",
    fails: "rollcall profile delete a",
    helps: [["rollcall profile delete a --yes", "! rollcall profile list | grep -qw a"]],
  },
  "ledger-missing": {
    fails: `${log} --ledger new.db --require-ledger`,
    helps: [[`${log} --ledger new.db && ${log} --ledger new.db --require-ledger`, `${isLogged} --ledger new.db`]],
  },
  "ledger-location-missing": {
    fails: "rollcall log m good.jsonl --split train",
    helps: [
      [
        "rollcall log m good.jsonl --split train --ledger l.db",
        "rollcall ledger verify good.jsonl --model m --split train --ledger l.db",
      ],
      ["rollcall log m good.jsonl --split train --no-ledger", "grep -qx 'status	logged' .out"],
      [
        "ROLLCALL_DATA_DIR=$PWD/data rollcall log m good.jsonl --split train",
        "ROLLCALL_DATA_DIR=$PWD/data rollcall ledger verify good.jsonl --model m --split train",
      ],
    ],
    env: { HOME: "", XDG_DATA_HOME: "", XDG_CONFIG_HOME: "", ROLLCALL_BASE_URL: "$URL", ROLLCALL_API_KEY: "$KEY" },
  },
  "ledger-differs": {
    fails: "rollcall ledger verify good.jsonl --model m --local --split train",
    helps: [
      [log, "rollcall ledger verify good.jsonl --model m --local --split train"],
      [
        `${log} --ledger l.db --batch b`,
        "rollcall ledger verify good.jsonl --model m --local --split train --ledger l.db --batch b",
      ],
      [
        "rollcall log m rows.jsonl --split train --local --group-by key",
        "rollcall ledger verify rows.jsonl --model m --profile local --split train --group-by key",
      ],
    ],
  },
  "no-such-request": {
    before: log,
    fails: "rollcall ledger resolve r12 --resend --local",
    helps: [["rollcall ledger status --local", "grep -q '^r1	logged' .out"]],
  },
  "rejects-exist": {
    before: "echo mine > bad.jsonl.rejected",
    fails: "rollcall log m bad.jsonl --split train --local --on-invalid skip",
    helps: [
      [
        "rollcall log m bad.jsonl --split train --local --on-invalid skip --rejects other",
        "test $(cat bad.jsonl.rejected) = mine && tail -1 bad.jsonl | cmp - other",
      ],
    ],
    ends: 7,
  },
  "rejects-path-missing": {
    fails: "rollcall log m - --split train --local --on-invalid skip < bad.jsonl",
    helps: [
      [
        "rollcall log m - --split train --local --on-invalid skip --rejects other < bad.jsonl",
        "tail -1 bad.jsonl | cmp - other",
      ],
    ],
    ends: 7,
  },
  "file-not-followable": {
    before: "gzip -k good.jsonl",
    fails: "rollcall log m good.jsonl.gz --follow --split train --local",
    drops: ["--follow"],
    helps: [["rollcall log m good.jsonl.gz --split train --local", isLogged]],
  },
  "calls-missing": {
    before: trace,
    fails: `rollcall call read ${call} --project a/b --local`,
    helps: [[`rollcall call read ${call} --project local/local --local`, `grep -qF "${call}" .out`]],
  },
  "call-ids-missing": {
    before: trace,
    fails: "rollcall call read - --local </dev/null",
    helps: [[`rollcall call read ${call} --local`, `grep -qF "${call}" .out`]],
  },
  "allow-host-missing": {
    fails: "rollcall serve --host 0.0.0.0 --port 0",
    helps: [
      [
        "timeout -s INT 2 rollcall serve --host 0.0.0.0 --port 0 --allow-host name; test $? -ne 2",
        says("rollcall service at http://"),
      ],
    ],
  },
  "cannot-listen": {
    fails: "rollcall serve --port $PORT",
    helps: [
      [
        "timeout -s INT 2 rollcall serve --host 127.0.0.1 --port 0; test $? -ne 11",
        says("rollcall service at http://"),
      ],
    ],
  },
  "output-unwritable": {
    fails: "rollcall view good.jsonl --html none/page.html",
    helps: [["rollcall view good.jsonl --html page.html", "grep -q '</html>' page.html"]],
  },
  "rejects-unwritable": {
    fails: "rollcall log m bad.jsonl --split train --local --on-invalid skip --rejects none/rejects",
    helps: [
      [
        "rollcall log m bad.jsonl --split train --local --on-invalid skip --rejects other",
        "tail -1 bad.jsonl | cmp - other",
      ],
    ],
    ends: 7,
  },
  "folder-unusable": {
    fails: "rollcall serve --port 0 --data-dir /dev/null/data",
    helps: [
      ["timeout -s INT 2 rollcall serve --port 0 --data-dir d; test $? -ne 11", "test -d d"],
      [
        "ROLLCALL_DATA_DIR=$PWD/data timeout -s INT 2 rollcall serve --host 127.0.0.1 --port 0; test $? -ne 11",
        "test -d data",
      ],
    ],
  },
  "database-foreign": {
    before: "mkdir -p $XDG_DATA_HOME/rollcall && echo a diary, and nothing else > $XDG_DATA_HOME/rollcall/ledger.db",
    fails: log,
    helps: [
      [`mv $XDG_DATA_HOME/rollcall/ledger.db away && ${log}`, `${isLogged} && grep -q diary away`],
      [`ROLLCALL_LEDGER=$PWD/l.db ${log}`, `ROLLCALL_LEDGER=$PWD/l.db ${isLogged}`],
      [`${log} --ledger k.db`, `${isLogged} --ledger k.db`],
    ],
  },
  "invalid-local-key": {
    before: `${log}; : > $XDG_DATA_HOME/rollcall/local.key`,
    fails: "rollcall models --local",
    helps: [
      ["rm $XDG_DATA_HOME/rollcall/local.key && rollcall models --local", "test -s $XDG_DATA_HOME/rollcall/local.key"],
    ],
  },
};
