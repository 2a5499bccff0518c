/**
 * The differences from the baseline that are meant. A difference is expected if all patterns of an entry match it. The patterns
 * are texts or regular expressions for what the report prints of it: `family`, `path`, `shape`, `line`, `case`, `old`, `new`,
 * and `detail` (a command or an option that a build lacks). `why` says in one sentence why the difference is meant.
 * The first entry that matches explains a difference. All differences that an entry explains are one group.
 */
export const expected = [
  {
    path: /requests\[\]\.headers/,
    why: "each log request has a connection of its own, and undici writes the headers of the connection first",
  },
  {
    case: /end within the body/,
    old: /ECONNRESET/,
    new: /CUT|the connection ended/,
    why: "undici reads the end of a connection before the next write fails because of it",
  },
  {
    line: /--timeout 300ms/,
    new: /the first request took/,
    why: "undici notices up to a second later that the service is silent",
  },
  {
    case: /100 Continue|within the headers/,
    why: "undici ends a connection on which a 100 Continue arrives that was not requested",
  },
  {
    line: /--(?:where|best|sample|shard) /,
    shape: /^order/,
    why: "what is chosen keeps its files, so its warnings are in the order of the files named, as they are without a choice",
  },
  {
    line: /^view /,
    path: /command$/,
    why: "the command of a group's page selects the group by its number, as it did for compressed files",
  },
  {
    line: /^call read /,
    path: /requests\[\]\.body\.id/,
    why: "calls that are read at the same time have a connection each, and their requests arrive in any order",
  },
  {
    case: /the local service/,
    line: /^call read /,
    why: "the file of the local service's store has the tables of PostgreSQL, and a store of version 1 is refused",
  },
  {
    line: /^view /,
    path: /\.(?:split|logged|call|at|before|after)$/,
    shape: /^added/,
    why: "a group of the page has how it was logged, and its position in the table, where its neighbors are",
  },
  {
    line: /^schema /,
    shape: /^order of keys|^removed/,
    old: /^\[\]$|^[$\w, ]+$/,
    why: "schemas are made of zod: a description is the first key, and an empty list of required keys is left out",
  },
  {
    family: "call read (terminal)",
    path: "stdout",
    shape: /^line/,
    why: "the result of a tool is below its call on a terminal of any width, as in a pipe",
  },
  {
    old: /versions|folders?|proxy variable|how to fix what is wrong|no secret is shown/,
    why: "doctor examines settings, credentials, addresses, ledger and store, and no versions, proxies or folders",
  },
  {
    line: /^view /,
    path: /^stderr/,
    shape: /order/,
    why: "all sources are read without blocking, so view may say where its page is before it says what it reads",
  },
];
