export function hasCommand(name: string): boolean;
export function isDebian(): boolean;
