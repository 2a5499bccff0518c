/** Makes a self-signed certificate for this machine, as the authority of a test. */
import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate and its key, as PEM. */
export interface CertificateWithKey {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for `localhost`, 127.0.0.1 and ::1, or for other names. It is valid today, or only in 2020. */
export const certificate = ({
  names = ["localhost"],
  expired = false,
}: {
  readonly names?: readonly string[];
  readonly expired?: boolean;
} = {}): CertificateWithKey => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(objectIdentifier("2a8648ce3d040302"));
  const name = sequence(tagged(0x31, sequence(objectIdentifier("550403"), tagged(0x0c, Buffer.from("rollcall test")))));
  const times = expired ? ["200101000000Z", "200102000000Z"] : ["200101000000Z", "491231235959Z"];
  const body = sequence(
    tagged(0xa0, integer(2)),
    integer(1),
    algorithm,
    name,
    sequence(...times.map((time) => tagged(0x17, Buffer.from(time)))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(authority(), alternativeNames(names))),
  );
  const signature = sign("sha256", body, privateKey);
  const cert = sequence(body, algorithm, tagged(0x03, Buffer.from([0]), signature));
  return { cert: pem("CERTIFICATE", cert), key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
};

const tagged = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const length =
    content.length < 0x80
      ? [content.length]
      : content.length < 0x100
        ? [0x81, content.length]
        : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);

const integer = (value: number): Buffer => tagged(0x02, Buffer.from([value]));

const objectIdentifier = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, "hex"));

const extension = (identifier: string, value: Buffer): Buffer =>
  sequence(objectIdentifier(identifier), tagged(0x04, value));

/** Basic constraints. The certificate may sign certificates, such as itself. */
const authority = (): Buffer => extension("551d13", sequence(tagged(0x01, Buffer.from([0xff]))));

const alternativeNames = (names: readonly string[]): Buffer =>
  extension(
    "551d11",
    sequence(
      ...names.map((name) => tagged(0x82, Buffer.from(name))),
      tagged(0x87, Buffer.from([127, 0, 0, 1])),
      tagged(0x87, Buffer.from("00000000000000000000000000000001", "hex")),
    ),
  );

const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END ${label}-----\n`;
