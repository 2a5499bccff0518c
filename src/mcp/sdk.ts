/** A separate bundle of the SDK's parts for `mcp`, so that other commands do not load its validators. */
export { Server } from "@modelcontextprotocol/sdk/server/index.js";
export { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
export { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
export { fromJSONSchema, prettifyError } from "zod";
