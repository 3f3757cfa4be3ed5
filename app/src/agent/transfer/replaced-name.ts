// Reads from a name which file it is made to replace: programs write the new content under a name made of the old one,
// or one that says only that it will not stay. Pure; a wrong answer costs the reading of a file.

export interface ReplacedName {
  /** Names that the file may be made to replace, or is a copy of; the likeliest first. */
  names: string[];
  /** It is likely to be renamed soon. */
  isTemporary: boolean;
}

const ENDINGS = "tmp|temp|new|bak|backup|old|orig|save|part|partial|download|crdownload|lock|swp|swo|swx|kate-swp";

/** The first group is the other file's name. */
const DERIVED: readonly RegExp[] = [
  // vim, emacs, nano: backups and what is saved by itself.
  /^(.+)~$/,
  /^#(.+)#$/,
  /^\.#(.+)$/,
  // Office programs.
  /^\.~lock\.(.+)#$/,
  /^~\$(.+)$/,
  // JetBrains, macOS, Syncthing.
  /^(.+)___jb_(?:tmp|old|bak)___$/,
  /^(.+)\.sb-[0-9a-f]{8}-\w{6}$/,
  /^\.syncthing\.(.+)\.tmp$/,
  new RegExp(`^\\.?(.+?)[.#_-]+(?:${ENDINGS})$`, "i"),
  // With a number or letters of chance: npm, rsync, mktemp.
  /^\.?(.+?)[.#_-]+(?:tmp|temp)[.#_-]?[\w.-]+$/i,
  /^\.?(.+)[.-]\w{6,10}(?:\.tmp)?$/,
  /^\.?(?:tmp|temp)[._-](.+)$/i,
];

/** Names that say only that the file stays no longer than it is written. */
const TEMPORARY: readonly RegExp[] = [
  /^sed\w{6}$/,
  /^\.goutputstream-\w{6}$/,
  /^lu\w+\.tmp$/,
  /^~\w+\.tmp$/,
  /^[0-9A-F]{7,8}(?:\.tmp)?$/,
  /^\.?(?:tmp|temp)[\w.-]*$/i,
  /\.(?:tmp|temp|part|partial)$/i,
];

export function replacedName(name: string): ReplacedName {
  const names = DERIVED.flatMap((pattern) => pattern.exec(name)?.[1] ?? []);
  return {
    names: [...new Set(names)].filter((one) => one !== name),
    isTemporary: TEMPORARY.some((pattern) => pattern.test(name)),
  };
}
