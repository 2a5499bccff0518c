/** Tools for agents, over the Model Context Protocol: owns its SDK, and confines files to one folder. */
export {
  amount,
  choice,
  count,
  flag,
  type Given,
  neededChoice,
  neededText,
  neededTexts,
  type Parameter,
  type Schema,
  text,
  texts,
  whole,
  yesOrNo,
} from "./parameter.ts";
export { openRoot, type Root, type RootFile } from "./root.ts";
export { type ServeOptions, serveTools } from "./server.ts";
export type { Tool } from "./tool.ts";
