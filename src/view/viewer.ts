/** The server of the page. A request without the token gets no data. */
import { randomBytes } from "node:crypto";
import { Hono, type MiddlewareHandler } from "hono";
import { isFailure, toFailure } from "../failure.ts";
import type { ReadProgress } from "../rollouts/dataset/read-dataset.ts";
import {
  type Bindings,
  foreignRequestReason,
  isAuthorized,
  type ListenOptions,
  listen,
} from "../service/http-server.ts";
import { type Host, waitForAbort } from "../system/host.ts";
import * as answers from "./answers.ts";
import type { ReadInput, ViewInput } from "./group-content.ts";
import { formatDocument, formatPolicy, pageScript, pageStyle } from "./html-export.ts";
import { openSession, type ViewSession } from "./session.ts";

/** A URL can contain the searched text. Each UTF-16 unit takes up to 9 characters, such as `%E2%82%AC`. */
const maxHeaderBytes = 9 * answers.maxSearchLength + 2 ** 16;

const progressOf = (phase: answers.ReadProgress["phase"]) => ({ phase, done: 0, of: 0 });

export type ViewerOptions = Pick<ListenOptions, "port" | "trace"> & { readonly host: Host };

export interface Viewer extends Pick<ShownInput, "showProgress" | "showInput" | "firstRequest"> {
  /** Browsers do not send the part after `#`, so traces do not contain the token. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** @throws Failure `cannot-listen` */
export const openViewer = async ({ host, port, trace }: ViewerOptions): Promise<Viewer> => {
  const token = randomBytes(24).toString("base64url");
  const shown = openShownInput(host);
  const options = { app: createApp(token, shown), port, maxHeaderBytes, trace, elapsed: host.elapsed };
  const server = await listen({ ...options, serverName: "`rollcall view`", address: "127.0.0.1" });
  return {
    ...shown,
    url: `${server.url}/#token=${token}`,
    async close() {
      shown.end();
      await server.close();
      await shown.close();
    },
  };
};

type ShownInput = ReturnType<typeof openShownInput>;

/** A smaller input is read before a browser shows the page. */
const minShownBytes = 2 ** 24;

const openShownInput = ({ signal }: Host) => {
  let progress: answers.ReadProgress | undefined = progressOf("opening");
  let session: ViewSession | undefined;
  /** The session of the first read. */
  let first: ViewSession | undefined;
  let input: ViewInput | undefined;
  let readAgain: ReadInput | undefined;
  let reads = 0;
  /** The last failure to read a changed input again. */
  let failure: { readonly thrown: unknown } | undefined;
  const opened = new AbortController();
  const ending = new AbortController();
  const showNext = async (read: ReadInput) => {
    const nextInput = await read();
    if (ending.signal.aborted) return await nextInput.dataset.close();
    const previous = session;
    const next = (!input && first) || openSession(nextInput.dataset, nextInput.groupBy, signal);
    progress = progressOf("summing up");
    await next.finish(nextInput);
    [input, failure, progress] = [nextInput, undefined, undefined];
    if (next === previous) return;
    [session, reads] = [next, reads + 1];
    await previous?.close();
  };
  return {
    firstRequest: waitForAbort(opened.signal),
    answer(name: answers.AnswerName, query: answers.Query) {
      opened.abort();
      if (name !== "state") return session?.answer(name, query);
      if (failure && !progress) throw failure.thrown;
      return { ...session?.store.state(), ...(progress ? { progress } : { hasChanged: input?.hasChanged() }) };
    },
    /** For `answers.readHeader`. */
    countReads: () => reads,
    /** Reads a changed input again. */
    async onPageLoad() {
      if (!readAgain || progress || input?.hasChanged() === false) return;
      progress = progressOf("opening");
      await showNext(readAgain).catch((thrown: unknown) => {
        failure = { thrown };
      });
      progress = undefined;
    },
    showProgress({ bytes, of, read, groupBy }: ReadProgress & Pick<ViewInput, "groupBy">) {
      const isLast = bytes === of;
      progress = isLast ? progressOf("checking groups") : { phase: "reading", done: bytes, of };
      if (input) return;
      // Describing many groups at once would delay other requests.
      first ??= openSession(read, groupBy, signal);
      first.addGroups(isLast);
      if (bytes >= minShownBytes && read.groups.count > 1) [session, reads] = [first, 1];
    },
    /** @throws errors of the first `read` */
    async showInput(read: ReadInput) {
      await showNext(read);
      readAgain = read;
    },
    end: () => ending.abort(),
    close: async () => await session?.close(),
  };
};

const headers = {
  "Content-Security-Policy": formatPolicy("'self'", "'self'", ["connect-src 'self'", "frame-ancestors 'none'"]),
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
};

const styleLink = '<link rel="stylesheet" href="page.css">';
const html = `<!doctype html>\n${formatDocument(styleLink, ['<script src="page.js" defer></script>']).join("")}`;

const answerNames = ["state", "charts", "rows", "group", "trajectory"] as const;

const createApp = (token: string, { answer, countReads, onPageLoad }: ShownInput) => {
  const app = new Hono<Bindings>();
  app.use(refuseForeign);
  app.get("/", () => {
    void onPageLoad();
    return respond(html, "text/html; charset=utf-8");
  });
  app.get("/page.js", () => respond(pageScript, "text/javascript; charset=utf-8"));
  app.get("/page.css", () => respond(pageStyle, "text/css; charset=utf-8"));
  app.use("/api/*", async ({ req }, next) => {
    if (!isAuthorized(req.header("authorization"), token)) {
      return refuse(401, "the token is missing or wrong. Open the URL that rollcall view printed");
    }
    return await next();
  });
  for (const name of answerNames) {
    app.get(`/api/${name}`, async ({ req }) => {
      const query = answers.parseQuery(req.query("query") ?? "");
      if (!query) return refuse(400, "invalid query");
      const read = { [answers.readHeader]: String(countReads()) };
      const value = await answer(name, query);
      if (value === undefined) return refuse(404, `no such ${name}`);
      // The text of a trajectory can be invalid JSON.
      return typeof value === "string"
        ? respond(value, "text/plain; charset=utf-8", 200, read)
        : respond(JSON.stringify(value), "application/json", 200, read);
    });
  }
  app.notFound(() => refuse(404, "Not Found"));
  app.onError(refuseFailure);
  return app;
};

const refuseForeign: MiddlewareHandler<Bindings> = async ({ env, req }, next) => {
  const { headers: sent } = env.incoming;
  const { "sec-fetch-mode": mode, "sec-fetch-dest": target } = sent;
  // `openBrowser` opens a file that redirects to this page, so the browser reports another site.
  const isNewTab = req.path === "/" && mode === "navigate" && target === "document";
  const why = foreignRequestReason(isNewTab ? { ...sent, "sec-fetch-site": "none" } : sent);
  if (why !== undefined) return refuse(403, why);
  if (req.method !== "GET" && req.method !== "HEAD") return refuse(405, "Method Not Allowed");
  return await next();
};

const respond = (body: string, type: string, status = 200, others: Readonly<Record<string, string>> = {}) =>
  new Response(body, { status, headers: { ...headers, ...others, "Content-Type": type } });

const refuse = (status: number, detail: string) => respond(JSON.stringify({ detail }), "application/json", status);

const refuseFailure = (thrown: unknown) => {
  if (isFailure(thrown, "input-changed")) {
    return refuse(409, `${thrown.details.subject} changed since it was read. Reload the page`);
  }
  const { code, kind, message } = toFailure(thrown);
  return refuse(500, code === "invalid_input" ? message : `cannot read the input (${kind})`);
};
