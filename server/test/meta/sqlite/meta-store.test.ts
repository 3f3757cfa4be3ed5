import { afterAll } from "@jest/globals";
import { describeMetaStore } from "../meta-contract.ts";
import { removeFolders, sqlitePlace } from "./sqlite-place.ts";

describeMetaStore("sqlite", sqlitePlace);
afterAll(removeFolders);
