/** One example of each reason a run can end with, for the page that lists them. */
import type { About, Reason, ReasonData } from "../../failure.ts";
import { ofImport } from "./other-rules.ts";

/** A reason's data and what may be known beside it. */
export type Example<R extends Reason> = { readonly data: ReasonData<R>; readonly about?: About };

const calling = (path: string, status?: number, said?: string): About => ({
  where: { setting: "base_url" },
  http: {
    method: "POST",
    url: `https://train.example${path}`,
    ...(status === undefined ? {} : { status }),
    ...(said === undefined ? {} : { said }),
  },
});

const store = { path: "~/.local/share/rollcall/local.db", title: "the store of the local service" };

/** A ledger in a database. */
const team = { path: "postgres://rollcall@db.example/rollcall", title: "the ledger" };

/** An example of each reason. */
export const examples: { readonly [R in Reason]: Example<R> } = {
  defect: { data: { text: "Cannot read properties of undefined", stack: undefined } },
  interrupted: { data: { signal: "SIGINT" } },
  "words-wrong": {
    data: { text: "unknown command 'modles'", suggestion: "(Did you mean models?)", command: "rollcall" },
  },
  "verb-missing": {
    data: {
      command: "rollcall catalog",
      verbs: ["analysis", "router"],
      help: "Usage: rollcall catalog [options] [command]…\n",
    },
  },
  "option-value-wrong": { data: { option: "--output", value: "yaml", wanted: "table, tsv, json, jsonl or csv" } },
  "root-file-missing": { data: { file: "../secrets.jsonl" } },
  "doctor-settings": { data: { checks: ["settings"] } },
  "doctor-files": { data: { checks: ["folder data", "ledger"] } },
  "doctor-credentials": { data: { checks: ["credential inference"] } },
  "doctor-addresses": { data: { checks: ["address base", "address inference"] } },
  "message-too-long": { data: { limitBytes: 1048576 } },
  "option-of-two-missing": { data: { first: "--assume-logged", second: "--resend" } },
  "not-confirmed": { data: { what: "delete the profile work", option: "--yes", how: "no-terminal" } },
  "option-needs": { data: { option: "--every", needs: "--follow" } },
  "options-contradict": { data: { first: "--json", second: "-o csv", why: "--json is -o json" } },
  "output-failed": { data: { code: "ENOSPC" } },
  "page-exists": { data: { file: "models.html" } },
  "page-unwritable": { data: { file: "pages/models.html", code: "ENOENT" } },
  "where-wrong": { data: { text: "rewrd > 1", wrong: "Unknown variable: rewrd" } },
  "out-exists": { data: { file: "groups.jsonl" } },
  "out-unwritable": { data: { file: "groups.jsonl", code: "EACCES" } },
  "convert-rejected": {
    data: { written: 18, rejected: 2, file: "results.jsonl.rejected" },
    about: { stoppedBy: "invalid_input" },
  },
  "conversion-inexact": { data: { count: 2, paths: ["info.seed", "timing.total"] } },
  "report-exists": { data: { file: "report.xml" } },
  "report-unwritable": { data: { file: "reports/check.xml", code: "ENOENT" } },
  "setting-missing": {
    data: { setting: "base_url", environment: "ROLLCALL_BASE_URL", option: "--base-url" },
  },
  "setting-wrong": {
    data: {
      setting: "project",
      value: "alpha",
      wanted: "team/project",
      where: { environment: "ROLLCALL_PROJECT" },
    },
  },
  "profile-unknown": { data: { profile: "prdo", known: ["prod", "staging"], how: "login", suggestion: "prod" } },
  "profile-exists": { data: { profile: "staging" } },
  "settings-broken": {
    data: { wrong: "it is not JSON", where: { file: "~/.config/rollcall/settings.json", line: 3, column: 5 } },
  },
  "credential-twice": { data: { variable: "ROLLCALL_API_KEY", fileVariable: "ROLLCALL_API_KEY_FILE" } },
  "credential-file-unreadable": {
    data: { variable: "ROLLCALL_API_KEY_FILE", file: "/run/secrets/key", code: "ENOENT" },
  },
  "credential-unusable": { data: { from: "ROLLCALL_API_KEY", wrong: "line-end" } },
  "setting-unknown": { data: { name: "base-urk", secret: false, suggestion: "base_url" } },
  "import-unreadable": { data: { from: "team.json", code: "ENOENT" } },
  "import-broken": { data: { wrong: "it is not JSON", where: { file: "team.json", line: 1, column: 20 } } },
  "import-refused": { data: { from: "team.json", count: 1 }, about: { problems: [ofImport("project", "alpha")] } },
  "credentials-none": { data: { profile: "default", uses: ["log", "inference", "calls"] } },
  "login-key-missing": { data: { how: "no-terminal" } },
  "login-refused": { data: { use: "inference", origin: "https://models.example" } },
  "credential-elsewhere": {
    data: {
      use: "log",
      origin: "https://staging.example",
      boundTo: "https://train.example",
      profile: "default",
    },
  },
  "credential-command-failed": { data: { program: "pass", end: { kind: "status", status: 1 } } },
  "credential-missing": { data: { use: "log", origin: "https://train.example", profile: "default" } },
  "place-missing": { data: { what: "settings", variable: "ROLLCALL_CONFIG_DIR" } },
  "place-unusable": { data: { place: "~/.config/rollcall", doing: "write", code: "EROFS" } },
  "place-foreign": {
    data: {
      place: "/home/anna/.config/rollcall/settings.json",
      part: "/home/anna/.config/rollcall/settings.json",
      why: "owner",
      owner: 1002,
      mode: 0o600,
      user: 1001,
    },
  },
  "place-busy": { data: { lock: "~/.config/rollcall/.lock" } },
  "home-missing": { data: {} },
  "address-malformed": { data: { why: "scheme" }, about: { where: { setting: "base_url" } } },
  "proxy-unusable": { data: { variable: "HTTPS_PROXY" } },
  "path-parameter-unusable": { data: { parameter: "model_id", value: ".." } },
  "header-unusable": { data: { what: "the project" } },
  "credential-over-http": { data: { origin: "http://train.example" } },
  "compression-missing": { data: { form: "zstd" } },
  "credential-refused": {
    data: { status: 401, from: "ROLLCALL_API_KEY", project: "alpha/beta" },
    about: calling("/call/read", 401, "invalid key"),
  },
  "nothing-there": {
    data: { operation: "list router catalog", setting: "base_url" },
    about: calling("/inference/router/acme/models", 404, "no such provider"),
  },
  "address-wrong": {
    data: { operation: "read call", setting: "base_url" },
    about: calling("/api/call/read", 404),
  },
  "request-refused": { data: { status: 400 }, about: calling("/call/read", 400, "project_id: not a project") },
  redirected: {
    data: { to: "https://login.example/", setting: "base_url" },
    about: calling("/call/read", 302),
  },
  "reply-unreadable": {
    data: { came: "html", at: undefined, setting: "base_url" },
    about: calling("/call/read", 200, "Sign in"),
  },
  "reply-too-long": { data: { limitBytes: 256 * 1024 * 1024 }, about: calling("/call/read", 200) },
  "service-unavailable": { data: { status: 503, askedMs: 120_000, tries: 3 }, about: calling("/call/read", 503) },
  "no-connection": {
    data: {
      code: "ECONNREFUSED",
      to: "train.example:443",
      proxy: undefined,
      status: undefined,
      ms: undefined,
      tries: 4,
      setting: "base_url",
    },
    about: calling("/call/read"),
  },
  "input-missing": { data: {} },
  "input-twice": { data: {} },
  "input-invalid": {
    data: { counts: [{ rule: "json-nan", severity: "error", count: 1 }] },
    about: {
      problems: [
        {
          file: "step-17.jsonl",
          line: 3,
          column: 1204,
          path: [],
          rule: "json-nan",
          severity: "error",
          message: "NaN is not JSON",
          advice: "leave the key out, or write null (in Python: json.dumps(…, allow_nan=False) finds it)",
        },
      ],
    },
  },
  "follow-unfit": { data: { file: "rollouts.jsonl.gz", found: "compressed" } },
  "input-changed": { data: { file: "step-17.jsonl" } },
  "input-unreadable": { data: { file: "step-17.jsonl", code: "EIO" } },
  "spool-failed": { data: { folder: "/tmp", code: "ENOSPC" } },
  "remote-address-wrong": { data: { name: "http://data.example/step.jsonl", why: "http" } },
  "aws-profile-unusable": { data: { profile: "work", by: "sso_session" } },
  "remote-refused": { data: { name: "s3://runs/step.jsonl", status: 403, store: "s3", from: undefined } },
  "remote-unavailable": {
    data: { name: "https://data.example/step.jsonl", status: 503, askedMs: undefined, tries: 4 },
  },
  "remote-odd": { data: { name: "https://data.example/step.jsonl", status: 400, store: "web", to: undefined } },
  "remote-cut": { data: { name: "https://data.example/step.jsonl", bytes: 40_000_000 } },
  "split-missing": { data: { found: [] } },
  "one-request-too-large": { data: { bytes: 100_000_000, limit: 33_554_432, requests: 3 } },
  "request-too-large": {
    data: { bytes: 33_000_000, groups: 800 },
    about: calling("/v1/preview/models/my-model/log", 413),
  },
  "log-partial": {
    data: { logged: 400, notSent: 400, unknown: 0, requests: 2, ledger: true },
    about: { ...calling("/v1/preview/models/my-model/log", 503), stoppedBy: "unavailable", retryable: true },
  },
  "log-unknown": {
    data: {
      logged: 400,
      notSent: 0,
      unknown: 400,
      requests: 2,
      ledger: true,
      request: 2,
      isLast: false,
      settles: false,
      from: "step-17.jsonl:401",
      to: "step-17.jsonl:800",
    },
    about: { ...calling("/v1/preview/models/my-model/log"), stoppedBy: "unavailable" },
  },
  "log-rejected": {
    data: {
      logged: 18,
      notSent: 0,
      unknown: 0,
      requests: 1,
      ledger: true,
      rejected: 2,
      unreadable: 1,
      file: "step-17.jsonl.rejected",
    },
    about: { stoppedBy: "invalid_input", retryable: false },
  },
  "log-unsettled": { data: { logged: 10, notSent: 0, unknown: 10, requests: 1, ledger: true } },
  "ledger-differs": { data: { read: 20, logged: 17, repeated: 1, unknown: 0, missing: 2 } },
  "copy-contradicts": { data: { from: "ledger.db", to: team.path, id: "r12" } },
  "copy-in-flight": { data: { path: "ledger.db", id: "r12" } },
  "copy-differs": { data: { from: "ledger.db", to: team.path, missing: 2 } },
  "copy-source-missing": { data: { path: "ledger.db" } },
  "entries-missing": { data: { ids: ["r12"] } },
  "ledger-filter-missing": { data: {} },
  "ledger-missing": { data: { path: "ledger.db" } },
  "ledger-busy": { data: { path: "ledger.db", waitedMs: 300_000 } },
  "ledger-gone": { data: { path: "ledger.db", part: "ledger", sent: { logged: 400, notSent: 400 } } },
  "forget-unconfirmed": { data: { requests: 12 } },
  "ledger-placeless": { data: {} },
  "rejects-exist": { data: { file: "step-17.jsonl.rejected" } },
  "rejects-needed": { data: { remote: false } },
  "rejects-unwritable": { data: { file: "step-17.jsonl.rejected", code: "EACCES" } },
  "calls-missing": {
    data: { ids: ["019a5c1e-7f3a-7c1e-9d2b-6a1f0c4e8b7d"], asked: 1, project: "alpha/beta" },
  },
  "calls-forbidden": {
    data: {
      ids: ["019a5c1e-7f3a-7c1e-9d2b-6a1f0c4e8b7d"],
      why: "the service refused the credential from ROLLCALL_API_KEY and the project alpha/beta (403)",
      asked: 12,
      stopped: undefined,
      advice:
        "check the key and the project: a wrong project is answered like a wrong key; `rollcall auth login` saves another key",
    },
  },
  "calls-refused": {
    data: {
      ids: ["019a5c1e-7f3a-7c1e-9d2b-6a1f0c4e8b7d"],
      why: "the service refused the request (400): no uuid",
      advice: undefined,
      asked: 12,
      stopped: undefined,
    },
  },
  "calls-unavailable": {
    data: {
      ids: ["019a5c1e-7f3a-7c1e-9d2b-6a1f0c4e8b7d"],
      why: "the service answered 503, 4 times",
      advice: undefined,
      asked: 12,
      stopped: undefined,
    },
  },
  "models-missing": {
    data: { models: [{ id: "moonshotai/Kimi-K2", near: "moonshotai/Kimi-K2.5" }], catalogs: ["router"] },
  },
  "usage-missing": { data: {} },
  "usage-unrecorded": { data: { by: "rollouts.jsonl" } },
  "lock-missing": { data: { file: "rollcall.lock.json" } },
  "lock-unreadable": { data: { file: "rollcall.lock.json", code: "EACCES" } },
  "lock-broken": { data: { file: "rollcall.lock.json", wrong: "type", field: "models.0.context_length" } },
  "lock-foreign": { data: { file: "package-lock.json" } },
  "lock-unwritable": { data: { file: "rollcall.lock.json", code: "EROFS" } },
  "lock-differs": { data: { file: "rollcall.lock.json", count: 2 } },
  "catalog-not-held": { data: { catalog: "router", address: "https://train.example", provider: "acme" } },
  "catalog-not-kept": { data: { catalog: "router", address: "https://train.example", provider: "acme" } },
  "catalog-file-unreadable": { data: { file: "october.json", code: "ENOENT" } },
  "catalog-file-broken": { data: { file: "october.json", wrong: "no-catalog" } },
  "catalogs-differ": { data: { changes: 12 } },
  "calls-unfit": {
    data: {
      calls: [{ id: "019a5c1e-7f3a-7c1e-9d2b-6a1f0c4e8b7d", why: "several-choices" }],
      asked: 2,
      into: "trajectory",
    },
  },
  "call-path-missing": {
    data: {
      ids: ["019a5c1e-7f3a-7c1e-9d2b-6a1f0c4e8b7d"],
      asked: 1,
      at: "output.choises",
      near: "output.choices",
      there: ["id", "choices", "usage"],
    },
  },
  "calls-running": { data: { ids: ["019a5c1e-7f3a-7c1e-9d2b-6a1f0c4e8b7d"], asked: 1, waitedMs: 300_000 } },
  "model-not-listed": {
    data: { id: "kimi-k2.5", names: ["analysis", "router"], near: "moonshotai/Kimi-K2.5" },
  },
  "call-ids-missing": { data: { from: "standard input" } },
  "call-id-unreadable": { data: { line: 3, why: "too long" } },
  "call-ids-unreadable": { data: { from: "standard input", code: "EISDIR" } },
  "database-locked": { data: store },
  "database-corrupt": { data: store },
  "database-foreign": { data: store },
  "database-newer": { data: { ...store, version: 7, newest: 5 } },
  "database-away": { data: { ...team, code: "ECONNREFUSED", waitedMs: 300_000 } },
  "database-refused": { data: { ...team, code: "28P01" } },
  "database-address": { data: { ...team, wanted: "postgres://user@host/database" } },
  "key-exists": { data: { name: "ann" } },
  "key-unknown": { data: { name: "anne", suggestion: "ann" } },
  "store-unsure": { data: { ...team, title: store.title } },
  "lease-lost": { data: { path: team.path } },
  "database-failed": { data: { ...store, code: "SQLITE_READONLY" } },
  "folder-unusable": { data: { ...store, path: "~/.local/share/rollcall", code: "EACCES" } },
  "disk-full": { data: store },
  "local-key-unusable": { data: { path: "~/.local/share/rollcall/local.key" } },
  "address-unusable": {
    data: { server: "the local service", address: "127.0.0.1", port: 8700, code: "EADDRINUSE" },
  },
  "host-unnamed": { data: { address: "0.0.0.0" } },
};
