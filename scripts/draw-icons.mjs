// Draws the icons of the desktop app: app/src/main/icons/STATE.svg into PNGs beside it, in its colour for Linux and
// Windows, and in black as a template for macOS, each also at twice the size; and the one of what is packed. Run it
// after a change of an SVG; the PNGs are committed.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Sizes of the places that systems have for such icons, in points. */
const POINTS = { color: 24, template: 18 };

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const path of globSync("app/src/main/icons/*.svg", { cwd: ROOT })) {
    const svg = readFileSync(join(ROOT, path), "utf8");
    const name = basename(path, ".svg");
    for (const scale of [1, 2]) {
      const suffix = scale === 1 ? "" : `@${scale}x`;
      const black = svg.replace(/color="#\w+"/, 'color="#000"');
      await draw(svg, POINTS.color, scale, `${name}${suffix}.png`, dirname(path));
      await draw(black, POINTS.template, scale, `${name}Template${suffix}.png`, dirname(path));
    }
  }
  // The icon of the app where it is installed: systems want one that is large.
  const fine = readFileSync(join(ROOT, "app/src/main/icons/fine.svg"), "utf8");
  await draw(fine, 512, 2, "icon.png", "installers");
} finally {
  await browser.close();
}

async function draw(svg, points, scale, file, folder) {
  const page = await browser.newPage({ viewport: { width: points, height: points }, deviceScaleFactor: scale });
  await page.setContent(`<style>body{margin:0}svg{display:block;width:${points}px;height:${points}px}</style>${svg}`);
  writeFileSync(join(ROOT, folder, file), await page.screenshot({ omitBackground: true }));
  await page.close();
}
