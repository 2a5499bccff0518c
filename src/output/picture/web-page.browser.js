// Sorts and filters the table, and shows in the plot what the table shows. Reads nothing but this page.

const table = document.querySelector("table");
const body = table.tBodies[0];
const headings = [...table.tHead.rows[0].cells];
const rows = [...body.rows];
const points = new Map([...document.querySelectorAll(".point[data-row]")].map((point) => [point.dataset.row, point]));
const names = new Map([...document.querySelectorAll("svg .name")].map((name) => [name.dataset.row, name]));
const steps = document.querySelector(".steps");
const control = (name) => document.querySelector(`[data-control="${name}"]`);
const columnOf = (name) => headings.findIndex((heading) => heading.dataset.name === name);

/** What a cell is sorted by: numbers come first, then words, then nothing, whichever way. */
const keyOf = (cell) => {
  if (cell.dataset.n !== undefined) return { kind: 0, value: Number(cell.dataset.n) };
  const text = cell.textContent.trim().toLowerCase();
  return text === "" ? { kind: 2, value: 0 } : { kind: 1, value: text };
};

const sortBy = (heading) => {
  const descending = heading.getAttribute("aria-sort") === "ascending";
  const column = headings.indexOf(heading);
  const keyed = rows.map((row) => ({ row, key: keyOf(row.cells[column]) }));
  keyed.sort((a, b) => {
    if (a.key.kind !== b.key.kind) return a.key.kind - b.key.kind;
    const difference = a.key.value < b.key.value ? -1 : a.key.value > b.key.value ? 1 : 0;
    return descending ? -difference : difference;
  });
  body.append(...keyed.map(({ row }) => row));
  for (const one of headings)
    one.setAttribute("aria-sort", one === heading ? (descending ? "descending" : "ascending") : "none");
};

for (const heading of headings) heading.querySelector("button").addEventListener("click", () => sortBy(heading));

/** What is asked of each row; what a model does not state holds nothing. */
const tests = {
  search: (value) => {
    const words = value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    return (row) => words.every((word) => row.dataset.search.includes(word));
  },
  context: (value) => numberTest("context_length", value, (number, bound) => number >= bound),
  price: (value) => numberTest(document.body.dataset.price, value, (number, bound) => number <= bound),
  catalog: (value) => wordTest("catalog", value),
  feature: (value) => wordTest("supported_features", value),
  country: (value) => wordTest("datacenters.country_code", value),
  best: (value) => (row) => value === "" || row.dataset.best !== undefined,
};

const numberTest = (name, value, holds) => {
  const column = columnOf(name);
  const bound = Number(value);
  if (value.trim() === "" || Number.isNaN(bound)) return () => true;
  return (row) => row.cells[column].dataset.n !== undefined && holds(Number(row.cells[column].dataset.n), bound);
};

const wordTest = (name, value) => {
  const column = columnOf(name);
  return (row) => value === "" || row.cells[column].textContent.split(", ").includes(value);
};

const filter = () => {
  const asked = Object.entries(tests).flatMap(([name, test]) => {
    const input = control(name);
    if (input === null) return [];
    return [test(input.type === "checkbox" ? (input.checked ? "yes" : "") : input.value)];
  });
  let shown = 0;
  for (const row of rows) {
    row.hidden = !asked.every((holds) => holds(row));
    if (!row.hidden) shown++;
    points.get(row.dataset.row)?.classList.toggle("gone", row.hidden);
    names.get(row.dataset.row)?.classList.toggle("gone", row.hidden);
  }
  // The line goes through models that may be filtered out: it is right for all of them, or not at all.
  steps?.classList.toggle("gone", shown < rows.length);
  document.querySelector("output").textContent = `${shown} of ${rows.length} models`;
};

const controls = document.querySelector(".controls");
controls.hidden = false;
controls.addEventListener("input", filter);
control("reset").addEventListener("click", () => {
  for (const input of controls.querySelectorAll("input, select")) {
    if (input.type === "checkbox") input.checked = false;
    else input.value = "";
  }
  filter();
});

/** A row and its point light up together. */
const light = (row, on) => {
  row.classList.toggle("lit", on);
  points.get(row.dataset.row)?.classList.toggle("lit", on);
};

const rowsByNumber = new Map(rows.map((row) => [row.dataset.row, row]));
for (const row of rows) {
  row.addEventListener("mouseenter", () => light(row, true));
  row.addEventListener("mouseleave", () => light(row, false));
}
for (const [number, point] of points) {
  const row = rowsByNumber.get(number);
  point.addEventListener("mouseenter", () => light(row, true));
  point.addEventListener("mouseleave", () => light(row, false));
  point.addEventListener("click", () => row.scrollIntoView({ block: "center" }));
}

filter();
