// The desktop of Windows.
import type { DesktopSystem } from "../desktop-system.ts";

export const windowsDesktop: DesktopSystem = {
  iconOf: (state) => `${state}.png`,
  menuTakesClicks: false,
  entries: undefined,
  ownUpdates: { updater: "NsisUpdater", needsPublisher: true },
  nodes: ["node_modules/.bin/node.exe", "node.exe"],
  // A bundle has no launcher (scripts/bundle-windows.mjs).
  launchers: ["bin/runnel.mjs", "cli/main.js"],
};
