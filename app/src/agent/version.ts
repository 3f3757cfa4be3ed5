// The version of this package, as its faces and its agent tell each other.
import manifest from "../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
