export function hasCommand(name: string): boolean;
export function isDebian(): boolean;
export function missingDebianPackages(names: readonly string[]): string[];
export function installDebianPackages(names: readonly string[]): void;
