// The desktop of Linux, and of others like it.
import type { DesktopSystem } from "../desktop-system.ts";
import { autostartOfApp, takeLinks } from "./desktop-entry.ts";

export const linuxDesktop: DesktopSystem = {
  iconOf: (state) => `${state}.png`,
  menuTakesClicks: false,
  entries: {
    loginItem: (command) => autostartOfApp(command),
    takeLinks: (command, clock) => takeLinks(command, clock),
  },
  ownUpdates: undefined,
  nodes: ["node_modules/.bin/node"],
  launchers: ["bin/runnel.mjs"],
};
