/** The page and what it asks for, as a web application: only whoever has the token is told what was read. */
import type { IncomingHttpHeaders } from "node:http";
import { Hono } from "hono";
import { failureOf, isFailure } from "../failure.ts";
import { type Bindings, isAuthorised, whyForeign } from "../service/index.ts";
import { htmlOf, pageScript, pageStyle } from "./html.ts";
import type { Looked } from "./looked.ts";
import { callSelectionIn, isPosition, selectionIn } from "./query.ts";

interface AppOptions {
  readonly token: string;
  readonly looked: Looked;
  /** Told whenever somebody with the token asks. */
  readonly onAsked: () => void;
  /** Told whenever the page is loaded. */
  readonly onLoaded: () => void;
}

/** Nothing but the page's own script and style, and requests to where it came from. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const headers: Readonly<Record<string, string>> = {
  "Content-Security-Policy": policy,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
};

const html = `<!doctype html>\n${htmlOf({
  head: '<link rel="stylesheet" href="page.css">',
  body: '<script src="page.js" defer></script>',
})}`;

const mostRows = 500;

const mostFindings = 500;

/** Builds the application. */
export const appOf = ({ token, looked, onAsked, onLoaded }: AppOptions): Hono<Bindings> => {
  const app = new Hono<Bindings>();
  app.use(async ({ env, req }, next) => {
    const { headers: sent } = env.incoming;
    const why = whyForeign(req.path === "/" && isOpened(sent) ? { ...sent, "sec-fetch-site": "none" } : sent, []);
    if (why !== undefined) return refused(403, why);
    if (req.method !== "GET" && req.method !== "HEAD") return refused(405, "Method Not Allowed");
    return await next();
  });
  app.get("/", () => {
    onLoaded();
    return answered(html, "text/html; charset=utf-8");
  });
  app.get("/page.js", () => answered(pageScript, "text/javascript; charset=utf-8"));
  app.get("/page.css", () => answered(pageStyle, "text/css; charset=utf-8"));
  app.use("/api/*", async ({ req }, next) => {
    if (!isAuthorised(req.header("authorization"), "bearer", token))
      return refused(401, "the token is missing or wrong: open the address that rollcall view printed");
    onAsked();
    return await next();
  });
  app.get("/api/state", () => json(looked.state()));
  app.get("/api/charts", () => json(looked.charts()));
  app.get("/api/problems", ({ req }) => json(looked.problems(req.query("rule"), mostFindings)));
  const list = <Chosen>(
    path: string,
    chosenIn: (query: URLSearchParams) => Chosen | undefined,
    rows: (chosen: Chosen, range: NonNullable<ReturnType<typeof rangeOf>>) => Promise<unknown>,
  ) =>
    app.get(path, async ({ req }) => {
      const query = new URL(req.url).searchParams;
      const [chosen, range] = [chosenIn(query), rangeOf(query)];
      if (chosen === undefined || range === undefined) return refused(400, "no such selection");
      return json(await rows(chosen, range));
    });
  list("/api/rows", selectionIn, (selection, range) => looked.rows(selection, range));
  list("/api/calls", callSelectionIn, (selection, range) => looked.calls(selection, range));
  app.get("/api/calls/:id", async ({ req }) => json(await looked.call(req.param("id")), "there is no such call here"));
  app.get("/api/groups/:group", async ({ req }) =>
    json(await looked.group(Number(req.param("group"))), "there is no such group here"),
  );
  app.get("/api/groups/:group/:trajectory", async ({ req }) => {
    const bytes = await looked.trajectory(Number(req.param("group")), Number(req.param("trajectory")));
    // JSON as it stands in the file: it may hold what is none.
    return bytes === undefined
      ? json(undefined, "there is no such trajectory here")
      : answered(new Uint8Array(bytes), "text/plain; charset=utf-8");
  });
  app.notFound(() => refused(404, "Not Found"));
  app.onError((thrown) => refused(...troubleOf(thrown)));
  return app;
};

/** Whether a browser was led to the page, as the file does that it is opened with: in its own tab, and of the page itself nothing is a secret. */
const isOpened = (sent: IncomingHttpHeaders): boolean =>
  sent["sec-fetch-mode"] === "navigate" && sent["sec-fetch-dest"] === "document";

const answered = (body: string | Uint8Array<ArrayBuffer>, type: string, status = 200): Response =>
  new Response(body, { status, headers: { ...headers, "Content-Type": type } });

const json = (value: unknown, missing = "Not Found"): Response =>
  value === undefined ? refused(404, missing) : answered(JSON.stringify(value), "application/json");

const refused = (status: number, detail: string): Response =>
  answered(JSON.stringify({ detail }), "application/json", status);

const troubleOf = (thrown: unknown): [status: number, detail: string] => {
  if (isFailure(thrown, "input-changed")) {
    return [409, `${thrown.data.file} changed since it was read: reload the page`];
  }
  if (isFailure(thrown, "where-wrong")) {
    const { wrong, place } = thrown.data;
    return [400, place === undefined ? wrong : `${wrong}, at ${place}`];
  }
  return [500, `this could not be read: ${failureOf(thrown).reason}`];
};

/** The rows that a query asks for; undefined where there can be none. */
const rangeOf = (query: URLSearchParams) => {
  const [from, most] = [Number(query.get("from") ?? 0), Number(query.get("count") ?? 100)];
  return isPosition(from) && isPosition(most) ? { from, most: Math.min(most, mostRows) } : undefined;
};
