// Reads what a 64-bit Mach-O file is for and which symbols it has (<mach-o/loader.h>, <mach-o/nlist.h>).
const MAGIC_64 = 0xfeedfacf;
const PROCESSORS: Record<number, string> = { 0x0100000c: "arm64", 0x01000007: "x64" };
const HEADER_BYTES = 32;
const COMMAND_SYMBOLS = 2; // LC_SYMTAB
const COMMAND_LIBRARY = 12; // LC_LOAD_DYLIB
const SYMBOL_BYTES = 16;
const TYPE_MASK = 0x0e; // N_TYPE
const TYPE_UNDEFINED = 0;
const IS_EXTERNAL = 0x01; // N_EXT
const IS_PRIVATE = 0x10; // N_PEXT

export interface MachO {
  processor: string;
  libraries: string[];
  /** Without the underscore that C's names get. */
  defined: string[];
  undefined: string[];
}

/** @throws Error for another kind of file. */
export function readMachO(file: Buffer): MachO {
  if (file.readUInt32LE(0) !== MAGIC_64) throw new Error("not a 64-bit Mach-O file");
  const processor = PROCESSORS[file.readUInt32LE(4)] ?? "unknown";
  const found: MachO = { processor, libraries: [], defined: [], undefined: [] };
  const commands = file.readUInt32LE(16);
  let at = HEADER_BYTES;
  for (let index = 0; index < commands; index++) {
    const command = file.readUInt32LE(at);
    if (command === COMMAND_LIBRARY) found.libraries.push(textAt(file, at + file.readUInt32LE(at + 8)));
    if (command === COMMAND_SYMBOLS) readSymbols(file, at, found);
    at += file.readUInt32LE(at + 4);
  }
  return found;
}

function readSymbols(file: Buffer, command: number, found: MachO): void {
  const symbols = file.readUInt32LE(command + 8);
  const count = file.readUInt32LE(command + 12);
  const texts = file.readUInt32LE(command + 16);
  for (let at = symbols; at < symbols + count * SYMBOL_BYTES; at += SYMBOL_BYTES) {
    const type = file.readUInt8(at + 4);
    if ((type & IS_EXTERNAL) === 0 || (type & IS_PRIVATE) !== 0) continue;
    const name = textAt(file, texts + file.readUInt32LE(at)).replace(/^_/, "");
    ((type & TYPE_MASK) === TYPE_UNDEFINED ? found.undefined : found.defined).push(name);
  }
}

function textAt(file: Buffer, at: number): string {
  return file.toString("utf8", at, file.indexOf(0, at));
}
