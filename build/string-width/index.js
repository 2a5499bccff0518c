/** string-width 8, which cli-table3 can require. Its segmenter takes 8 ms, so common text does not load it. */

/** ASCII, Latin, Greek, Cyrillic, and common punctuation. */
const singleWidthText =
  /^[ -~\u00a1-\u00ac\u00ae-\u024f\u0391-\u03ce\u0400-\u0482\u048a-\u04ff\u2010-\u2015\u2018-\u201f\u2026]*$/;

// biome-ignore lint/correctness/noUndeclaredDependencies: the package of the checkout declares it.
const load = () => require("string-width-current").default;

module.exports = (text) => (singleWidthText.test(text) ? text.length : load()(text));
