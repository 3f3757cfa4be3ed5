export const ZIG_CACHE: string;
export function alone<T>(name: string, work: () => T): T;
export function ensureZig(): string;
export function ensureWinFspHeaders(): string;
export function ensureWindowsNode(which?: "own" | "forWine8"): string;
export function ensureDebian(command: string, packages: readonly string[]): void;
export function ensureClang(): string;
export function testElectron(): string | undefined;
export function ensureTestElectron(): string;
