/** Tells addresses of this machine and of databases from others. */
export const isLoopback = (hostname: string) => /^(?:localhost\.?|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(hostname);

export const isDatabaseUrl = (location: string) => /^postgres(ql)?:\/\//i.test(location);
