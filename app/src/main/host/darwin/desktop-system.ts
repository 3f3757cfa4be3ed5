// The desktop of macOS.
import type { DesktopSystem } from "../desktop-system.ts";

export const darwinDesktop: DesktopSystem = {
  // macOS draws a template in the menu bar's own colour; the name says so.
  iconOf: (state) => `${state}Template.png`,
  menuTakesClicks: true,
  entries: undefined,
  ownUpdates: { updater: "MacUpdater", needsPublisher: false },
  nodes: ["node_modules/.bin/node"],
  launchers: ["bin/runnel.mjs"],
};
