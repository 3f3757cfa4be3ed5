// Paths of macOS: those of Linux, but that small and large letters, composed and decomposed ones lead to one file, as
// on the volumes that macOS makes unless told. On one that tells them apart a folder beside a drive, of the same name
// in other letters, is taken for the drive.
import type { PathForm } from "./path-form.ts";
import { posixPaths } from "./posix-paths.ts";

export const darwinPaths: PathForm = {
  ...posixPaths,
  fold: (path) => path.normalize("NFD").toLowerCase().normalize("NFC"),
};
