/** Shows groups in a browser: with a server, or in a file. */
import type { ViewerOptions } from "./viewer.ts";

export type Viewer = Awaited<ReturnType<typeof openViewer>>;

/** Opens the server, which a page in a file does not need. @throws Failure `cannot-listen` */
export const openViewer = async (options: ViewerOptions) => await (await import("./viewer.ts")).openViewer(options);
