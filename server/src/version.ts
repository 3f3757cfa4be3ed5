// The version of this package, as the server tells its faces.
import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
