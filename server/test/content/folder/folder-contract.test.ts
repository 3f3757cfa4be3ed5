import { contentContract } from "../content-contract.ts";
import { folderStore } from "./test-volume.ts";

contentContract("folder", folderStore());
