/** A separate bundle, so that other commands do not load the MCP SDK. */
export { Server } from "@modelcontextprotocol/sdk/server/index.js";
export { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
export { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
export { fromJSONSchema, prettifyError } from "zod";
