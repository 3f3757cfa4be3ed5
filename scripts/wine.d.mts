export function hasOwnNodeUnderWine(): boolean;
export class Wine {
  static start(prefix: string, env: NodeJS.ProcessEnv, shows: readonly string[]): Promise<Wine>;
  readonly env: NodeJS.ProcessEnv;
  readonly node: string;
  command(...words: string[]): string[];
  restart(): void;
  close(): Promise<void>;
}
