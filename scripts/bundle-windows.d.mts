export const COMMON_JS: string;
export function copySqlite(folder: string): void;
export function bundleForWindows(folder: string, node?: string, version?: string): Promise<void>;
