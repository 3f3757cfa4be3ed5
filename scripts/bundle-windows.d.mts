export function bundleForWindows(folder: string, node?: string): Promise<void>;
