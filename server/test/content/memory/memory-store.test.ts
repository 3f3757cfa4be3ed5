import { openMemoryStore } from "../../../src/content/memory/memory-store.ts";
import { contentContract } from "../content-contract.ts";

contentContract("memory", openMemoryStore);
