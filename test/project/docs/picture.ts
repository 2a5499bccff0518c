/** Draws the output of a command on a terminal as SVG. */

const [columnWidth, lineHeight, margin] = [8, 18, 16];
const colors: Readonly<Record<string, string>> = { 2: "#8b949e", 31: "#ff7b72", 32: "#3fb950", 33: "#d29922" };

/** Draws the command and the first lines of its output, which may have the codes of the program's colors. */
export const drawTerminal = (command: string, output: string, { columns = 80, rows = 30 } = {}): string => {
  const printed = output.trimEnd().split(/\r?\n/);
  const lines = [`\u001b[1m$ ${command}\u001b[22m`, ...printed.slice(0, rows), ...(printed.length > rows ? ["…"] : [])];
  const [width, height] = [columns * columnWidth + 2 * margin, lines.length * lineHeight + 2 * margin];
  const texts = lines.map((line, at) => drawLine(line, margin + (at + 0.75) * lineHeight));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${encode(`$ ${command}`)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3" xml:space="preserve">`,
    ...texts.filter((text) => text !== ""),
    "</g>\n</svg>\n",
  ].join("\n");
};

/** The length keeps the columns aligned in any font. */
const drawLine = (line: string, y: number): string => {
  const spans = Array.from(line.matchAll(/(?:\u001b\[(?<code>\d+)m|^)(?<text>[^\u001b]*)/g), ({ groups = {} }) => {
    const { code = "", text = "" } = groups;
    const style = code === "1" ? ' font-weight="bold"' : colors[code] ? ` fill="${colors[code]}"` : "";
    return {
      length: text.length,
      drawn: style === "" || text === "" ? encode(text) : `<tspan${style}>${encode(text)}</tspan>`,
    };
  });
  const length = spans.reduce((sum, span) => sum + span.length, 0);
  if (length === 0) return "";
  const drawn = spans.map((span) => span.drawn).join("");
  return `<text x="${margin}" y="${y}" textLength="${length * columnWidth}" lengthAdjust="spacingAndGlyphs">${drawn}</text>`;
};

const encode = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(" ", "\u00a0");
