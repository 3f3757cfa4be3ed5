// The desktop app in a real Electron, with the product's server, agent and drive, on a desktop whose tray and
// notifications are stand-ins on a session bus. One start of the app serves all tests, in their order: each begins
// where the one before has left it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DesktopApp, desktopObstacle } from "../src/browser/desktop-app.ts";
import { DesktopBus } from "../src/browser/desktop-bus.ts";
import {
  type Device,
  isAlive,
  type LinkEmulator,
  onMount,
  run,
  Sandbox,
  type ServerProcess,
  waitFor,
} from "../src/harness/index.ts";

/** A desktop beside other tests is slow. */
const SHOWN_MS = 60_000;
const TEST_MS = 240_000;
const UP_BITS = 2_000_000;
const STATES = ["fine", "working", "paused", "offline", "attention"] as const;

/**
 * Returns how opaque each pixel is, and the colour of those that are so wholly: of others it depends on how a bitmap
 * counts them. `argb`: four bytes a pixel.
 */
function shapeOf(argb: Buffer): string {
  const shape = Buffer.from(argb);
  for (let at = 0; at < shape.length; at += 4) if (shape[at] !== 255) shape.fill(0, at + 1, at + 4);
  return shape.toString("hex");
}

const why = desktopObstacle();
const onDesktop = why === undefined ? describe : describe.skip;

onDesktop(`the desktop app${why === undefined ? "" : ` (skipped: ${why})`}`, () => {
  let sandbox: Sandbox;
  let server: ServerProcess;
  let link: LinkEmulator;
  let device: Device;
  let desktop: DesktopBus;
  let app: DesktopApp;
  let drive: string;
  let pictures: ReadonlyMap<string, string>;

  const labels = async (): Promise<string[]> => (await desktop.menu()).map(({ label }) => label);
  const untilTooltip = (text: string): Promise<unknown> =>
    waitFor(async () => (await desktop.tooltip()).includes(text), SHOWN_MS, `the tooltip "${text}"`);
  /**
   * Reads the states' pictures at twice their size, which is the one that a desktop gets, as Electron reads the files:
   * blue, green, red, alpha.
   */
  const readPictures = async (): Promise<Map<string, string>> => {
    const bitmaps = await app.electron.evaluate(
      ({ nativeImage, app: self }, names) =>
        names.map((name) => {
          const image = nativeImage.createFromPath(`${self.getAppPath()}/icons/${name}.png`);
          return image.toBitmap({ scaleFactor: 2 }).toString("base64");
        }),
      [...STATES],
    );
    return new Map(STATES.map((state, at) => [state, shapeOf(Buffer.from(bitmaps[at] ?? "", "base64").swap32())]));
  };
  const untilIcon = async (state: (typeof STATES)[number]): Promise<void> => {
    const picture = pictures.get(state);
    const shows = async (): Promise<boolean> => shapeOf((await desktop.icon()).argb) === picture;
    await waitFor(shows, SHOWN_MS, `the icon "${state}"`);
  };

  beforeAll(async () => {
    sandbox = new Sandbox();
    server = await sandbox.startServer({ readyMs: TEST_MS });
    link = await sandbox.startEmulator(server.port, { upBitsPerSecond: UP_BITS });
    const home = sandbox.makeFolder("user");
    const xdg = { HOME: home, XDG_CONFIG_HOME: join(home, "config"), XDG_DATA_HOME: join(home, "data") };
    desktop = await DesktopBus.start({ ...sandbox.env, ...xdg });
    device = sandbox.device("a", desktop.env);
    drive = sandbox.makeFolder("drive");
    app = await DesktopApp.start(device.env);
    pictures = await readPictures();
  }, TEST_MS);

  afterAll(async () => {
    desktop?.close();
    // The sweep ends Electron, screen and bus with all else that carries the sandbox's mark.
    await sandbox?.cleanup();
  }, 60_000);

  test(
    "starts the agent, and shows its page without any power of Node's",
    async () => {
      const page = await app.page("/");
      await page.getByText("No drive is mapped").waitFor({ timeout: SHOWN_MS });
      expect(isAlive(device.agentPid())).toBe(true);
      // Under its own Node, not under Electron.
      expect(readFileSync(`/proc/${device.agentPid()}/cmdline`, "utf8")).toMatch(/node.*app\/src\/agent\/main\.ts/);
      const powers = await page.evaluate("[typeof process, typeof require]");
      expect(powers).toEqual(["undefined", "undefined"]);
      const bridge = await page.evaluate(() => Object.keys((globalThis as { runnel?: object }).runnel ?? {}));
      expect(bridge).toEqual(["takeInvite"]);
      const preferences = await app.electron.evaluate(({ webContents }) =>
        webContents.getAllWebContents().map((each) => {
          // Electron's own way to look them up, which its types do not list.
          const looked = each as unknown as { getLastWebPreferences(): Record<string, unknown> };
          const { sandbox: isSandboxed, contextIsolation, nodeIntegration } = looked.getLastWebPreferences();
          return { isSandboxed, contextIsolation, nodeIntegration };
        }),
      );
      expect(preferences).toEqual([{ isSandboxed: true, contextIsolation: true, nodeIntegration: false }]);
    },
    TEST_MS,
  );

  test(
    "goes nowhere else, opens no window, runs no script but its own, and is granted nothing",
    async () => {
      const page = await app.page("/");
      const { origin } = new URL(page.url());
      const elsewhere = `http://127.0.0.1:${server.port}/`;
      const tried = await page.evaluate(`(async (url) => {
        location.assign(url);
        const opened = window.open(url);
        const fetched = await fetch(url, { mode: "no-cors" }).then(() => "fetched", () => "refused");
        const script = document.createElement("script");
        script.textContent = "window.hasRun = true";
        document.head.append(script);
        const hasRun = window.hasRun === true;
        return { opened: opened === null, fetched, hasRun, permission: await Notification.requestPermission() };
      })(${JSON.stringify(elsewhere)})`);
      expect(tried).toEqual({ opened: true, fetched: "refused", hasRun: false, permission: "denied" });
      // Electron's guard refuses what no policy of a page is asked for.
      const unguarded = await app.electron.evaluate(async ({ session }, url) => {
        const loaded = await session
          .fromPartition("runnel")
          .fetch(url)
          .then(
            () => "loaded",
            () => "refused",
          );
        return loaded;
      }, elsewhere);
      expect(unguarded).toBe("refused");
      expect(new URL(page.url()).origin).toBe(origin);
      expect(app.electron.windows()).toHaveLength(1);
      expect(await page.evaluate("document.body.innerText")).toContain("No drive is mapped");
    },
    TEST_MS,
  );

  test(
    "a link fills the form, and nothing is mapped before a person says so",
    async () => {
      const { invite } = await sandbox.device("admin").ask(["invite", "docs", "--data", sandbox.path("data")]);
      const again = await app.startAgain("--", String(invite));
      expect(again.code).toBe(0);
      const page = await app.page("/add");
      await waitFor(
        async () => (await page.getByLabel("Invite or address").inputValue()) === invite,
        SHOWN_MS,
        "the form to be filled",
      );
      expect(page.url()).not.toContain("#");
      expect(await device.status()).toMatchObject({ mounts: [] });
      expect((await sandbox.device("admin").ask(["invites", "--data", sandbox.path("data")]))["invites"]).toHaveLength(
        1,
      );
      // The same window: a second start makes no second one.
      expect(app.electron.windows()).toHaveLength(1);
      await page.getByLabel("Where it appears").fill(drive);
      await page.getByRole("button", { name: "Map the drive" }).click();
      await page.getByText("drive is there.").waitFor({ timeout: SHOWN_MS });
      const { unmounted } = await device.unmount(drive);
      expect(unmounted).toMatchObject({ mountpoint: drive });
      const entry = readFileSync(join(sandbox.path("user"), "data/applications/runnel.desktop"), "utf8");
      expect(entry).toMatch(/^Exec=.* -- %u$/m);
      expect(entry).toMatch(/^MimeType=x-scheme-handler\/runnel;$/m);
    },
    TEST_MS,
  );

  test(
    "icon and tooltip say how the drives are: fine, working, and fine again",
    async () => {
      await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
      await untilTooltip("Everything is saved on the server.");
      await untilIcon("fine");
      const written = onMount('head -c 1000000 /dev/urandom > "$1/large"', [drive], { deadlineMs: TEST_MS });
      await untilIcon("working");
      expect(await desktop.tooltip()).toMatch(/^(Uploading 1 file|1 change waits)/);
      await written;
      await untilIcon("fine");
      expect(new Set(pictures.values()).size).toBe(STATES.length);
      expect([...pictures.values()].every((picture) => picture.length === 48 * 48 * 8)).toBe(true);
    },
    TEST_MS,
  );

  test(
    "the menu holds everything, and does it",
    async () => {
      await waitFor(async () => (await labels()).includes("drive"), SHOWN_MS, "the drive in the menu");
      const shown = await labels();
      expect(shown[0]).toBe("Everything is saved on the server.");
      expect(shown.slice(1)).toEqual([
        "Open Runnel",
        "-",
        "drive",
        "Add a Drive…",
        "-",
        "Savings",
        "Folders",
        "Conflicts",
        "Settings",
        "Help",
        "-",
        "Quit; the Drives Stay",
      ]);
      await desktop.choose("Help");
      await (await app.page("/help")).getByText("The agent", { exact: true }).first().waitFor({ timeout: SHOWN_MS });
      const autostart = join(sandbox.path("user"), "config/autostart/runnel.desktop");
      expect(existsSync(autostart)).toBe(false);
      await desktop.choose("Settings", "Start at Login");
      const starts = (): boolean =>
        existsSync(autostart) && /^Exec=.*app\/dist --quiet$/m.test(readFileSync(autostart, "utf8"));
      await waitFor(starts, SHOWN_MS, "the app to start at login");
      const isChecked = async (): Promise<boolean> =>
        (await desktop.menu()).find(({ label }) => label === "Settings")?.items[1]?.isChecked === true;
      await waitFor(isChecked, SHOWN_MS, "the mark in the menu");
      await desktop.choose("Settings", "Start at Login");
      await waitFor(() => !existsSync(autostart), SHOWN_MS, "the app not to start at login");

      await desktop.clickIcon();
      const size = (): Promise<[number, number][]> =>
        app.electron.evaluate(({ BrowserWindow }) =>
          BrowserWindow.getAllWindows()
            .filter((each) => each.isVisible())
            .map((each) => each.getContentSize() as [number, number]),
        );
      await waitFor(
        async () => (await size()).some(([width, height]) => width === 400 && height === 640),
        SHOWN_MS,
        "the popover",
      );

      await desktop.choose("drive", "Unmount");
      await untilTooltip("No drives are mounted.");
      expect(await device.status()).toMatchObject({ mounts: [] });
      expect((await run("ls", [drive])).stdout).toBe("");
    },
    TEST_MS,
  );

  test(
    "a killed agent is started again, its drive is mapped again, and a person is told",
    async () => {
      await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
      await waitFor(async () => (await labels()).includes("drive"), SHOWN_MS, "the drive in the menu");
      const killed = device.agentPid();
      const before = desktop.notices.length;
      await device.killAgent();
      await waitFor(() => device.agentPid() !== killed && isAlive(device.agentPid()), SHOWN_MS, "another agent");
      const told = (): boolean =>
        desktop.notices.slice(before).some(({ title }) => title === "Runnel was started again");
      await waitFor(told, SHOWN_MS, "the notification");
      expect(desktop.notices.at(-1)?.body).toBe("The drive is back.");
      writeFileSync(sandbox.path("served", "after"), "here");
      await run("sh", ["-c", 'until cat "$1/after"; do sleep 0.1; done', "sh", drive], { deadlineMs: SHOWN_MS });
      await untilIcon("fine");
      // The window that was open is there again, with a page of the new agent.
      await (await app.page("/")).getByText("Everything is saved").first().waitFor({ timeout: SHOWN_MS });
    },
    TEST_MS,
  );

  test(
    "a conflict is notified of, and a click on it opens the page of conflicts",
    async () => {
      const other = sandbox.device("b", desktop.env);
      const theirs = sandbox.makeFolder("theirs");
      await other.mount(`${server.url}/docs`, theirs);
      const signs = sandbox.makeFolder("signs");
      await onMount('echo base > "$1/report.txt"', [drive]);
      const late = run(
        "bash",
        [
          "-c",
          'exec 3<>"$1/report.txt"; touch "$2/open"; while [ ! -e "$2/go" ]; do sleep 0.05; done; echo mine >&3',
          "bash",
          drive,
          signs,
        ],
        { deadlineMs: SHOWN_MS },
      );
      await waitFor(() => existsSync(join(signs, "open")), SHOWN_MS, "the file to be open");
      await onMount('until grep -q base "$1/report.txt"; do sleep 0.1; done; echo theirs > "$1/report.txt"', [theirs]);
      writeFileSync(join(signs, "go"), "");
      expect((await late).code).toBe(0);
      const notice = await waitFor(
        () => desktop.notices.find(({ title }) => title === "report.txt was changed twice"),
        SHOWN_MS,
        "the notification",
      );
      expect(notice.body).toBe("report.txt in drive was changed in two places. Both are kept: compare them.");
      await untilIcon("attention");
      desktop.clickNotice(notice);
      const page = await app.page("/conflicts");
      const conflicts = page.getByRole("main");
      await conflicts.getByText(/report\.txt was changed/).waitFor({ timeout: SHOWN_MS });
      await conflicts.getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name: "I have seen to it" }).click();
      await conflicts.getByText("No conflicts").waitFor({ timeout: SHOWN_MS });
      await untilIcon("fine");
      await other.unmount(theirs);
      await device.unmount(drive);
    },
    TEST_MS,
  );

  test(
    "without its server a drive is offline, and an agent that a person has stopped stays so until it is asked for",
    async () => {
      await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
      await untilIcon("fine");
      await link.cut("refuse");
      await untilIcon("offline");
      await untilTooltip("Offline.");
      await device.ask(["stop", "--force"]);
      await untilIcon("paused");
      await untilTooltip("Runnel was stopped.");
      await desktop.choose("Start");
      await untilTooltip("No drives are mounted.");
    },
    TEST_MS,
  );

  test(
    "quits by its menu, and leaves agent and drive alone",
    async () => {
      const pid = device.agentPid();
      const closed = app.electron.waitForEvent("close", { timeout: SHOWN_MS });
      // An app that has ended may have answered nobody any more; whether it ended is looked at next.
      await desktop.choose("Quit; the Drives Stay").catch((error: unknown) => {
        if (!String(error).includes("disconnected from message bus")) throw error;
      });
      await closed;
      expect(isAlive(pid)).toBe(true);
      expect(device.agentPid()).toBe(pid);
    },
    TEST_MS,
  );
});
