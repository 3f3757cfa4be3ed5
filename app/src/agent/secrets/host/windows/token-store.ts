// Windows: files sealed by its Data Protection API, whose key is derived from what the user logs in with.
import { openSecret, sealSecret } from "@runnel/native";
import { SealedFiles } from "../sealed-files.ts";

export function windowsTokenStore(folder: string): SealedFiles {
  return new SealedFiles({
    name: "dpapi",
    place: "Windows' data protection",
    folder,
    seal: {
      seal: (bytes) => Promise.resolve(sealSecret(bytes)),
      open: (sealed) => Promise.resolve(openSecret(sealed)),
    },
  });
}
