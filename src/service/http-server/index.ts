/** Answers HTTP requests on an address of this machine. */
export { foreignRequestReason, isAuthorized, isSameSecret, parseCredential } from "./check-request.ts";
export { type Bindings, type ListenOptions, listen } from "./server.ts";
