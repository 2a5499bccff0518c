/** Reads what a source file imports, and what of the machine it touches, from its syntax tree. */
import { dirname, join } from "node:path/posix";
import { parseAst } from "rolldown/parseAst";

/** One import of a file, however it is written. */
export interface Import {
  /** The file's path from the top of the project, or the package's name, or `node:` and a module of Node's. */
  readonly to: string;
  readonly kind: "value" | "type" | "lazy";
  /** From 1. */
  readonly line: number;
}

/** A use of something that belongs to the machine or that the house has no place for. */
export interface Use {
  /** As it would be written: `process.env`, `Date.now`, `process.exit`, `as`. */
  readonly what: string;
  readonly line: number;
}

/** What was read of one file. */
export interface Source {
  readonly imports: readonly Import[];
  readonly uses: readonly Use[];
}

/** Reads a TypeScript or JavaScript file. An import whose target is computed has the target `?`. */
export const readSource = (path: string, text: string): Source => {
  const imports: Import[] = [];
  const uses: Use[] = [];
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  const add = (kind: Import["kind"], node: Node, source: unknown) =>
    imports.push({ to: target(path, isNode(source) ? source.value : undefined), kind, line: lineAt(node.start) });
  const visit = (node: Node): void => {
    if (
      node.type === "ImportDeclaration" ||
      node.type === "ExportAllDeclaration" ||
      node.type === "ExportNamedDeclaration"
    ) {
      if (isNode(node.source)) add(isTypeOnly(node) ? "type" : "value", node, node.source);
    } else if (node.type === "ImportExpression") add("lazy", node, node.source);
    else if (node.type === "TSImportType") add("type", node, node.source);
    else if (path.endsWith(".js") && isRequire(node)) add("value", node, firstOf(node.arguments));
    else {
      const what = useOf(node);
      if (what !== undefined) uses.push({ what, line: lineAt(node.start) });
    }
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child);
    }
  };
  const tree: unknown = parseAst(text, { lang: path.endsWith(".ts") ? "ts" : "js", sourceType: "module" }, path);
  if (isNode(tree)) visit(tree);
  // A function of the file's own may be called `require`: nothing is loaded by it.
  const own = /\b(const|function) require\b/.test(text);
  return { imports, uses: own ? uses.filter(({ what }) => what !== "require") : uses };
};

/** A node of the syntax tree, as far as this file looks into it. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

/** Whether nothing of an import is there when the program runs. */
const isTypeOnly = (node: Node): boolean => {
  if (node.importKind === "type" || node.exportKind === "type") return true;
  const { specifiers } = node;
  if (!Array.isArray(specifiers) || specifiers.length === 0) return false;
  return specifiers.every((one) => isNode(one) && (one.importKind === "type" || one.exportKind === "type"));
};

const target = (from: string, specifier: unknown): string => {
  if (typeof specifier !== "string") return "?";
  if (specifier.startsWith(".")) return join(dirname(from), specifier);
  if (specifier.startsWith("node:")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
};

/** The name of what a node uses of the machine; undefined where it is nothing of the kind. */
const useOf = (node: Node): string | undefined => {
  if (node.type === "MemberExpression") {
    const [object, member] = [nameOf(node.object), nameOf(node.property)];
    if (object === "process") return `process.${member ?? "?"}`;
    if (object === "globalThis" && member === "process") return "process";
    const dotted = `${object}.${member}`;
    return ["Date.now", "performance.now", "Math.random"].includes(dotted) ? dotted : undefined;
  }
  if (node.type === "NewExpression" && nameOf(node.callee) === "Date" && isEmpty(node.arguments)) return "new Date()";
  if (isRequire(node)) return "require";
  if (node.type === "TSAsExpression" && !isConst(node.typeAnnotation)) return "as";
  if (node.type === "VariableDeclarator" && nameOf(node.init) === "process") return "process";
  if (node.type === "CallExpression" && passes(node.arguments, "process")) return "process";
  return undefined;
};

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === "Identifier" && typeof node.name === "string" ? node.name : undefined;

const isRequire = (node: Node): boolean => node.type === "CallExpression" && nameOf(node.callee) === "require";

const firstOf = (values: unknown): unknown => (Array.isArray(values) ? values[0] : undefined);

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const isConst = (type: unknown): boolean => isNode(type) && nameOf(type.typeName) === "const";

const passes = (values: unknown, name: string): boolean =>
  Array.isArray(values) && values.some((value) => nameOf(value) === name);
