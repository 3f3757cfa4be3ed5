// Names the system and the processor that an addon has to be made for, as prebuilds/ names its folders.
export const ADDON_TARGET = `${process.platform}-${process.arch}`;
