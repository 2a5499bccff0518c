/** Files of stores that speak S3: requests are signed here, and what stands below a prefix is listed. */
import { AwsV4Signer } from "aws4fetch";
import { Failure } from "../../failure.ts";
import { type AwsSettings, awsSettings } from "./aws.ts";
import type { RemoteAccess } from "./remote.ts";
import {
  type Asked,
  endpointAt,
  type Place,
  type Reach,
  type Request,
  remoteAnswer,
  type Store,
} from "./remote-file.ts";

/** A bucket, and the key of a file in it or the beginning of keys. */
interface Spot {
  readonly bucket: string;
  readonly key: string;
}

/** Opens the stores that `s3://` stands for. @throws Failure `aws-profile-unusable`, `remote-address-wrong` */
export const openS3 = (access: RemoteAccess): Store => {
  const { endpoint, ...own } = awsSettings(access.host);
  const { key: signing } = own;
  for (const secret of [signing?.secretAccessKey, signing?.sessionToken]) if (secret !== undefined) access.hide(secret);
  const store = new S3({ ...own, endpoint: endpoint === undefined ? undefined : endpointAt(endpoint, access) }, access);
  return {
    place: (name, address) => store.place(name, spotOf(name, address)),
    list: async (name, address, reach) => await store.list(name, spotOf(name, address), reach),
  };
};

const spotOf = (name: string, address: string): Spot => {
  const [, bucket = "", key = ""] = /^s3:\/\/([^/?#]+)\/(.*)$/is.exec(address) ?? [];
  if (!/^[a-z0-9][\w.-]*$/i.test(bucket)) throw new Failure("remote-address-wrong", { name, why: "bucket" });
  return { bucket, key };
};

class S3 {
  readonly #settings: AwsSettings;
  readonly #access: RemoteAccess;
  /** Regions of buckets, as they were told. */
  readonly #regions = new Map<string, string>();

  constructor(settings: AwsSettings, access: RemoteAccess) {
    this.#settings = settings;
    this.#access = access;
  }

  place(name: string, spot: Spot, query = ""): Place {
    return {
      name,
      store: "s3",
      credential: this.#settings.key?.from,
      ask: async (headers) => await this.#signed(new URL(`${this.#addressOf(spot)}${query}`), spot, headers),
      learns: ({ status, headers }) => {
        const region = headers["x-amz-bucket-region"];
        if (status < 300 || region === undefined || region === this.#regionOf(spot)) return false;
        this.#regions.set(spot.bucket, region);
        return true;
      },
    };
  }

  /** The keys below a prefix, from there on, page by page. */
  async list(name: string, { bucket, key: prefix }: Spot, reach: Reach): Promise<readonly string[]> {
    const keys: string[] = [];
    const seen = new Set<string>();
    for (let token: string | undefined = ""; token !== undefined; ) {
      const query = new URLSearchParams({ "list-type": "2", prefix, "encoding-type": "url" });
      if (token !== "") query.set("continuation-token", token);
      // A space that is written as a plus sign is signed as something else.
      const place = this.place(name, { bucket, key: "" }, `?${query.toString().replaceAll("+", "%20")}`);
      const { text } = await remoteAnswer(place, reach);
      const isEncoded = /<EncodingType>url</.test(text);
      for (const [, key = ""] of text.matchAll(/<Contents>.*?<Key>([^<]*)<\/Key>/gs)) {
        const plain = isEncoded ? decodeURIComponent(key.replaceAll("+", " ")) : unescaped(key);
        if (plain.startsWith(prefix)) keys.push(plain.slice(prefix.length));
      }
      seen.add(token);
      const next = /<NextContinuationToken>([^<]+)</.exec(text)?.[1];
      token = next === undefined || seen.has(unescaped(next)) ? undefined : unescaped(next);
    }
    return keys;
  }

  #regionOf({ bucket }: Spot): string {
    return this.#regions.get(bucket) ?? this.#settings.region;
  }

  /** Amazon has a name for each bucket; other stores, and names with dots, which no certificate is for, have it in the path. */
  #addressOf(spot: Spot): string {
    const { endpoint } = this.#settings;
    const { bucket, key } = spot;
    const path = key.split("/").map(encodeRfc3986).join("/");
    if (endpoint !== undefined) return `${endpoint}/${bucket}/${path}`;
    const region = this.#regionOf(spot);
    const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
    return bucket.includes(".") ? `https://${host}/${bucket}/${path}` : `https://${bucket}.${host}/${path}`;
  }

  async #signed(url: URL, spot: Spot, headers: Asked): Promise<Request> {
    const { key } = this.#settings;
    if (key === undefined) return { url, headers };
    const { accessKeyId, secretAccessKey, sessionToken } = key;
    const signer = new AwsV4Signer({
      url: url.href,
      headers: headers.map(([name, value]): [string, string] => [name, value]),
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: "s3",
      region: this.#regionOf(spot),
      datetime: new Date(this.#access.host.now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    });
    const signed = await signer.sign();
    return { url, headers: [...signed.headers] };
  }
}

const encodeRfc3986 = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&(?:(amp|lt|gt|quot|apos)|#x([\da-f]+)|#(\d+));/gi, (_, name, hex, decimal) =>
    name === undefined
      ? String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
      : (entities[String(name).toLowerCase()] ?? ""),
  );
