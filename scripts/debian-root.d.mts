export function ensureDebianRoot(): string;
