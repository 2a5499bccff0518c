/** The document around the page's script and style, served or in a file. */
import pageScript from "./page/main.tsx?page";
import pageStyle from "./page/page.css?raw";

export { pageScript, pageStyle };

/** Returns the document without its first line. */
export const documentOf = ({
  head,
  body,
}: {
  readonly head: string;
  readonly body: string;
}): string => `<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>rollcall view</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
<noscript>This page shows what rollcall reads, and needs JavaScript for that.</noscript>
${body}
</body>
</html>
`;
