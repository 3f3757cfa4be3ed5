// Runs before the page, in its sandbox: gives it the bridge, and nothing else.
import { contextBridge, ipcRenderer } from "electron";
import type { PageBridge } from "../bridge.ts";

const bridge: PageBridge = { takeInvite: () => ipcRenderer.invoke("takeInvite") as Promise<string> };
contextBridge.exposeInMainWorld("runnel", bridge);
