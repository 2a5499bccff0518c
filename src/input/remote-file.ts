/** Reads a file at an address by its ranges: what is cut is asked for again, and what is another file by then is not taken. */
import type { Downloads, Got } from "../client/index.ts";
import { Failure, type RemoteStore } from "../failure.ts";
import { isLoopback } from "../host.ts";
import { NothingThere } from "./remote-names.ts";
import { inputChanged } from "./source.ts";

/** Headers of a request. */
export type Asked = readonly (readonly [name: string, value: string])[];

/** Where a file is, and how it is asked for. */
export interface Place {
  /** As it is told to people. */
  readonly name: string;
  readonly store: RemoteStore;
  /** What the credential that goes along is called; undefined where none does. */
  readonly credential: string | undefined;
  /** A request for it. */
  ask(headers: Asked): Request;
}

/** Where addresses of a kind lead. */
export interface Store {
  /** The place of a file. @throws Failure `remote-address-wrong` */
  place(name: string, address: string): Place;
  /** What stands below an address that ends in a slash, at any depth, from there on. @throws as `RemoteFile.bytes` */
  list(name: string, address: string, reach: Reach): Promise<readonly string[]>;
}

/** A request. */
export interface Request {
  readonly url: URL;
  readonly headers: Asked;
}

/** How files are reached, and who is told how far that is. */
export interface Reach {
  readonly downloads: Downloads;
  /** Whether files may come over plain http from other machines. */
  readonly insecureHttp: boolean;
  readonly onBytes: (bytes: number, of: number | undefined) => void;
}

/** Bytes of a range, and ranges that are asked for at once: so much is held in memory. */
const rangeBytes = 2 ** 23;
const rangesAtOnce = 4;

/** What has to come of an answer for its end to be nobody's fault but the network's: waits begin anew behind it. */
const enoughBytes = 2 ** 16;

/** By what a file is told from the one that it may become. */
interface Pin {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  readonly size: number | undefined;
}

/** The whole answer to a small request, such as a list. @throws as `RemoteFile.bytes` */
export const remoteAnswer = async (
  place: Place,
  reach: Reach,
): Promise<{ readonly text: string; readonly headers: Got["headers"] }> => {
  const waits = reach.downloads.patience();
  for (;;) {
    const got = await new RemoteFile(place, reach).ask([]);
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of got.chunks()) chunks.push(chunk);
      return { text: Buffer.concat(chunks).toString("utf8"), headers: got.headers };
    } catch (thrown) {
      if (!isBroken(thrown) || !(await waits.wait(undefined))) throw thrown;
    }
  }
};

interface Chunk {
  readonly chunk: Uint8Array;
  readonly size: number | undefined;
}

/** A file at an address. Nothing is asked for yet. Must be ended. */
export class RemoteFile {
  readonly #place: Place;
  readonly #reach: Reach;
  readonly #end = new AbortController();
  /** Where redirects led. */
  #target: URL | undefined;
  #pin: Pin | undefined;
  #first: Promise<Got> | undefined;

  constructor(place: Place, reach: Reach) {
    this.#place = place;
    this.#reach = { ...reach, downloads: reach.downloads.within(this.#end.signal) };
  }

  /** Asks for its beginning, before somebody wants it: the answer to the first range, which is asked for once. */
  begin(): Promise<Got> {
    this.#first ??= this.ask([["Range", `bytes=0-${rangeBytes - 1}`]]);
    // Whoever wants it is told.
    this.#first.catch(() => undefined);
    return this.#first;
  }

  /**
   * Its bytes, in their order.
   * @throws NothingThere; Failure `input-changed`, `remote-…`, `no-connection`; the signal's reason
   */
  async *bytes(): AsyncGenerator<Uint8Array, void> {
    let bytes = 0;
    for await (const { chunk, size } of this.#chunks()) {
      bytes += chunk.length;
      this.#reach.onBytes(bytes, size);
      yield chunk;
    }
  }

  /** Gives up what is under way. */
  end(): void {
    this.#end.abort();
  }

  async *#chunks(): AsyncGenerator<Chunk, void> {
    const first = await this.begin();
    const size = sizeIn(first);
    if (first.status === 416 && size === 0) return;
    const pin = pinOf(first);
    if (first.status === 206 && size !== undefined && isPinned(pin)) {
      this.#pin = pin;
      return yield* this.#ranges(first, size);
    }
    if (first.status === 200) return yield* this.#whole(first);
    first.drop();
    yield* this.#whole(await this.ask([]));
  }

  async *#ranges(first: Got, size: number): AsyncGenerator<Chunk, void> {
    const coming: Promise<Uint8Array>[] = [];
    let asked = 0;
    const askNext = (got?: Got): void => {
      const range = { start: asked, end: Math.min(asked + rangeBytes, size) };
      asked = range.end;
      const piece = this.#range(range, got);
      // Whoever waits for it is told; until then nobody may.
      piece.catch(() => undefined);
      coming.push(piece);
    };
    askNext(first);
    while (coming.length > 0) {
      while (asked < size && coming.length < rangesAtOnce) askNext();
      const chunk = await coming.shift();
      if (chunk !== undefined) yield { chunk, size };
    }
  }

  /** A range whole, however often its connection breaks. */
  async #range({ start, end }: { readonly start: number; readonly end: number }, opened?: Got): Promise<Uint8Array> {
    const into = Buffer.allocUnsafeSlow(end - start);
    let waits = this.#reach.downloads.patience();
    let filled = 0;
    for (let got = opened; ; got = undefined) {
      const before = filled;
      try {
        const answer = got ?? (await this.ask([["Range", `bytes=${start + filled}-${end - 1}`]]));
        if (answer.status !== 206 || startIn(answer) !== start + filled) {
          // A server that gave ranges, and gives something else now, has another file there.
          answer.drop();
          throw inputChanged(this.#place.name);
        }
        for await (const chunk of answer.chunks()) {
          if (chunk.length > into.length - filled) throw odd(this.#place, answer);
          into.set(chunk, filled);
          filled += chunk.length;
        }
        if (filled === into.length) return into;
      } catch (thrown) {
        if (filled - before >= enoughBytes) waits = this.#reach.downloads.patience();
        if (!isBroken(thrown) || !(await waits.wait(undefined))) throw thrown;
        this.#reach.downloads.announce(thrown);
      }
    }
  }

  /** A file of a server that knows no ranges: where it is cut, it is read from its beginning again, and what was taken is passed over. */
  async *#whole(first: Got): AsyncGenerator<Chunk, void> {
    this.#pin = pinOf(first);
    const { size } = this.#pin;
    const waits = this.#reach.downloads.patience();
    let taken = 0;
    for (let got = first; ; got = await this.ask([])) {
      let passed = 0;
      try {
        for await (const chunk of got.chunks()) {
          const fresh = chunk.subarray(Math.max(0, taken - passed));
          passed += chunk.length;
          if (fresh.length === 0) continue;
          taken += fresh.length;
          yield { chunk: fresh, size };
        }
        if (passed < taken) throw inputChanged(this.#place.name);
        return;
      } catch (thrown) {
        if (!isBroken(thrown)) throw thrown;
        if (taken > 0 && !isPinned(this.#pin)) {
          throw new Failure("remote-cut", { name: this.#place.name, bytes: taken }, { cause: thrown });
        }
        if (!(await waits.wait(undefined))) throw thrown;
        this.#reach.downloads.announce(thrown);
      }
    }
  }

  /** Asks, goes where redirects lead, and takes no answer that is an error or another file's. */
  async ask(headers: Asked): Promise<Got> {
    const got = await this.#answer(headers);
    const { status } = got;
    if (status === 200 || status === 206) {
      if (this.#pin === undefined || isSame(this.#pin, pinOf(got))) return got;
      got.drop();
      throw inputChanged(this.#place.name);
    }
    if (status === 416 && this.#pin === undefined) return got;
    const said = await saidBy(got);
    if (status === 412 || status === 416) throw inputChanged(this.#place.name);
    if (status === 404 || status === 410) {
      if (this.#pin !== undefined) throw inputChanged(this.#place.name);
      throw new NothingThere(said);
    }
    throw failureOf(this.#place, got, said);
  }

  async #answer(headers: Asked): Promise<Got> {
    const conditions = conditionsOf(this.#pin);
    const { downloads } = this.#reach;
    if (this.#target !== undefined) {
      const got = await downloads.get(this.#target, [...headers, ...conditions]);
      if (got.status < 400 || got.status === 412 || got.status === 416) return got;
      // What a redirect leads to is often signed for some minutes only.
      got.drop();
    }
    const isElsewhere = this.#target !== undefined;
    this.#target = undefined;
    const asked = this.#place.ask(isElsewhere ? headers : [...headers, ...conditions]);
    return await this.#follow(asked, [...headers, ...conditions]);
  }

  async #follow(first: Request, plain: Asked): Promise<Got> {
    let asked = first;
    for (let steps = 0; ; steps++) {
      const got = await this.#reach.downloads.get(asked.url, asked.headers);
      if (![301, 302, 303, 307, 308].includes(got.status)) return got;
      const { location = "" } = got.headers;
      got.drop();
      if (steps === mostRedirects || !URL.canParse(location, asked.url.href)) throw odd(this.#place, got);
      const url = new URL(location, asked.url);
      if (!isAllowed(url, this.#reach)) throw odd(this.#place, got, url);
      // A credential goes where it was meant to go, and nowhere else.
      asked = { url, headers: url.origin === first.url.origin ? first.headers : plain };
      this.#target = url.origin === first.url.origin ? undefined : url;
    }
  }
}

/** As many redirects as browsers follow. */
const mostRedirects = 20;

/** Whether something may be asked for at an address: plain http only on this machine, or where somebody said so. */
export const isAllowed = ({ protocol, hostname }: URL, { insecureHttp }: Pick<Reach, "insecureHttp">): boolean =>
  protocol === "https:" || (protocol === "http:" && (insecureHttp || isLoopback(hostname)));

/** The address of a store, as it was set. @throws Failure `remote-address-wrong` */
export const endpointAt = (endpoint: string, access: Pick<Reach, "insecureHttp">): string => {
  if (URL.canParse(endpoint) && isAllowed(new URL(endpoint), access)) return endpoint.replace(/\/+$/, "");
  throw new Failure("remote-address-wrong", { name: endpoint, why: "endpoint" });
};

const isBroken = (thrown: unknown): thrown is Failure => thrown instanceof Failure && thrown.reason === "no-connection";

const pinOf = ({ status, headers }: Got): Pin => {
  const length = headers["content-length"];
  const whole = status === 206 ? /\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1] : length;
  const size = whole === undefined ? undefined : Number(whole);
  return { etag: headers.etag, lastModified: headers["last-modified"], size };
};

const isPinned = ({ etag, lastModified }: Pin): boolean => etag !== undefined || lastModified !== undefined;

/** Whether nothing tells two answers' files apart. */
const isSame = (one: Pin, other: Pin): boolean =>
  [
    [weak(one.etag), weak(other.etag)],
    [one.lastModified, other.lastModified],
    [one.size, other.size],
  ].every(([a, b]) => a === undefined || b === undefined || a === b);

const weak = (etag: string | undefined): string | undefined => etag?.replace(/^W\//, "");

/** Asks for nothing but the file that it was (RFC 9110, 13.1: only a strong tag can be asked by). */
const conditionsOf = (pin: Pin | undefined): Asked => {
  if (pin?.etag?.startsWith('"') === true) return [["If-Match", pin.etag]];
  return pin?.lastModified === undefined ? [] : [["If-Unmodified-Since", pin.lastModified]];
};

const sizeIn = ({ headers }: Got): number | undefined => {
  const size = /\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1];
  return size === undefined ? undefined : Number(size);
};

const startIn = ({ headers }: Got): number => Number(/^bytes (\d+)-/.exec(headers["content-range"] ?? "")?.[1] ?? -1);

/** As much of an error's body as is read. */
const mostSaid = 2 ** 16;

/** What a server says of an error: that of a signed address in XML, the Hub in a header or in JSON. */
const saidBy = async (got: Got): Promise<string | undefined> => {
  let text = "";
  try {
    for await (const chunk of got.chunks()) {
      text += Buffer.from(chunk).toString("utf8");
      if (text.length > mostSaid) break;
    }
  } catch (thrown) {
    if (!isBroken(thrown)) throw thrown;
  }
  const [, code] = /<Code>([^<]{1,200})<\/Code>/.exec(text) ?? [];
  const [, message] =
    /<Message>([^<]{1,1000})<\/Message>/.exec(text) ?? /"(?:error|message)"\s*:\s*"([^"]{1,1000})"/.exec(text) ?? [];
  const said = [code, got.headers["x-error-message"] ?? message].filter((part) => part !== undefined && part !== "");
  return said.length === 0 ? undefined : said.join(": ");
};

const failureOf = (place: Place, { status, retryAfterMs, tries }: Got, said: string | undefined): Failure => {
  const { name, store, credential: from } = place;
  const http = { method: "GET", url: name, status, said };
  const about = { http, where: { file: name } };
  if (status === 401 || status === 403) return new Failure("remote-refused", { name, status, from, store }, about);
  if (status === 408 || status === 429 || status >= 500)
    return new Failure("remote-unavailable", { name, status, askedMs: retryAfterMs, tries }, about);
  return new Failure("remote-odd", { name, status, to: undefined }, about);
};

const odd = ({ name }: Place, { status }: Pick<Got, "status">, to?: URL): Failure => {
  const data = { name, status, to: to === undefined ? undefined : `${to.origin}${to.pathname}` };
  return new Failure("remote-odd", data, { http: { method: "GET", url: name, status }, where: { file: name } });
};
