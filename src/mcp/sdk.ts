/** What rollcall uses of the official SDK: a bundle of its own, so that its validators are loaded with no other command. */
export { Server } from "@modelcontextprotocol/sdk/server/index.js";
export { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
export { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
export { fromJSONSchema } from "zod";
