/** Tools for agents, over the Model Context Protocol: owns its SDK, and confines files to one folder. */
export {
  amount,
  choice,
  count,
  flag,
  type Given,
  needed,
  type Parameter,
  type Schema,
  text,
  textOrNumber,
  texts,
} from "./parameter.ts";
export { openRoot, type Root } from "./root.ts";
export { type ServeOptions, serveTools, type Tool } from "./server.ts";
