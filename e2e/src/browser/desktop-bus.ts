// A desktop for tests: a screen without a monitor, a session bus, and stand-ins on it for what a desktop shows: the
// host of tray icons (StatusNotifierItem) and the notifications (Desktop Notifications Specification 1.2). All
// processes carry the sandbox's mark, and are swept with it.
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import dbus, { type MessageBus } from "dbus-next";

const READY_MS = 60_000;
const WATCHER = "org.kde.StatusNotifierWatcher";
const ITEM = "org.kde.StatusNotifierItem";
const NOTIFICATIONS = "org.freedesktop.Notifications";
const MENU = "com.canonical.dbusmenu";

export interface ShownNotice {
  id: number;
  title: string;
  body: string;
}

export interface ShownItem {
  id: number;
  label: string;
  isEnabled: boolean;
  /** Is undefined where it has no mark. */
  isChecked: boolean | undefined;
  items: ShownItem[];
}

export interface ShownPixels {
  width: number;
  height: number;
  /** Four bytes a pixel: alpha, red, green, blue. */
  argb: Buffer;
}

class Watcher extends dbus.interface.Interface {
  readonly items: string[] = [];

  constructor() {
    super(WATCHER);
  }

  RegisterStatusNotifierItem(name: string): void {
    this.items.push(name);
  }

  RegisterStatusNotifierHost(): void {}

  get RegisteredStatusNotifierItems(): string[] {
    return this.items;
  }

  get IsStatusNotifierHostRegistered(): boolean {
    return true;
  }

  get ProtocolVersion(): number {
    return 0;
  }
}
const { ACCESS_READ } = dbus.interface;
Watcher.configureMembers({
  methods: {
    RegisterStatusNotifierItem: { inSignature: "s" },
    RegisterStatusNotifierHost: { inSignature: "s" },
  },
  properties: {
    RegisteredStatusNotifierItems: { signature: "as", access: ACCESS_READ },
    IsStatusNotifierHostRegistered: { signature: "b", access: ACCESS_READ },
    ProtocolVersion: { signature: "i", access: ACCESS_READ },
  },
});

class Notifications extends dbus.interface.Interface {
  readonly notices: ShownNotice[] = [];

  constructor() {
    super(NOTIFICATIONS);
  }

  GetCapabilities(): string[] {
    return ["body", "actions"];
  }

  GetServerInformation(): string[] {
    return ["stand-in", "runnel", "1", "1.2"];
  }

  Notify(_app: string, _replaces: number, _icon: string, title: string, body: string): number {
    const id = this.notices.length + 1;
    this.notices.push({ id, title, body });
    return id;
  }

  CloseNotification(): void {}

  ActionInvoked(id: number, action: string): [number, string] {
    return [id, action];
  }
}
Notifications.configureMembers({
  methods: {
    GetCapabilities: { outSignature: "as" },
    GetServerInformation: { outSignature: "ssss" },
    Notify: { inSignature: "susssasa{sv}i", outSignature: "u" },
    CloseNotification: { inSignature: "u" },
  },
  signals: { ActionInvoked: { signature: "us" } },
});

export class DesktopBus {
  /** Variables by which a program finds screen and bus. */
  readonly env: NodeJS.ProcessEnv;
  readonly #processes: readonly ChildProcess[];
  readonly #bus: MessageBus;
  readonly #watcher = new Watcher();
  readonly #notifications = new Notifications();

  private constructor(env: NodeJS.ProcessEnv, processes: readonly ChildProcess[], bus: MessageBus) {
    this.env = env;
    this.#processes = processes;
    this.#bus = bus;
  }

  /** Starts screen and bus. @throws Error when one of them does not. */
  static async start(env: NodeJS.ProcessEnv): Promise<DesktopBus> {
    const options: SpawnOptions = { env, cwd: "/", detached: true, stdio: ["ignore", "pipe", "ignore"] };
    const screenArgs = ["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"];
    const screen = spawn("Xvfb", screenArgs, options);
    const daemon = spawn("dbus-daemon", ["--session", "--nofork", "--print-address=1"], options);
    const [display, address] = await Promise.all([firstLine(screen), firstLine(daemon)]);
    const bus = dbus.sessionBus({ busAddress: address });
    const all = { ...env, DISPLAY: `:${display}`, DBUS_SESSION_BUS_ADDRESS: address };
    const desktop = new DesktopBus(all, [screen, daemon], bus);
    await desktop.#export();
    return desktop;
  }

  get notices(): readonly ShownNotice[] {
    return this.#notifications.notices;
  }

  clickNotice({ id }: ShownNotice): void {
    this.#notifications.ActionInvoked(id, "default");
  }

  /** True once a program has put an icon into the tray. */
  get hasIcon(): boolean {
    return this.#watcher.items.length > 0;
  }

  async tooltip(): Promise<string> {
    const [, , title, text] = (await this.#property("ToolTip")) as [string, unknown, string, string];
    return title || text;
  }

  async icon(): Promise<ShownPixels> {
    const [pixels] = (await this.#property("IconPixmap")) as [number, number, Buffer][];
    if (pixels === undefined) throw new Error("The icon has no pixels.");
    const [width, height, bytes] = pixels;
    return { width, height, argb: Buffer.from(bytes) };
  }

  async menu(): Promise<ShownItem[]> {
    const [, layout] = (await this.#call(await this.#menuPath(), MENU, "GetLayout", "iias", [0, -1, []])) as [
      number,
      RawItem,
    ];
    return layout[2].map(({ value }) => shownItem(value));
  }

  /** Chooses the item that these labels lead to. */
  async choose(...labels: string[]): Promise<void> {
    let items = await this.menu();
    let chosen: ShownItem | undefined;
    for (const label of labels) {
      chosen = items.find((item) => item.label === label);
      items = chosen?.items ?? [];
    }
    if (chosen === undefined) throw new Error(`The menu has no ${labels.join(" › ")}.`);
    const event = [chosen.id, "clicked", new dbus.Variant("i", 0), 0];
    await this.#call(await this.#menuPath(), MENU, "Event", "isvu", event);
  }

  /** Clicks on the icon itself. */
  async clickIcon(): Promise<void> {
    await this.#call(this.#item.path, ITEM, "Activate", "ii", [0, 0]);
  }

  /** Ends screen and bus. */
  close(): void {
    this.#bus.disconnect();
    for (const process of this.#processes) process.kill("SIGKILL");
  }

  async #export(): Promise<void> {
    await this.#bus.requestName(WATCHER, 0);
    this.#bus.export("/StatusNotifierWatcher", this.#watcher);
    await this.#bus.requestName(NOTIFICATIONS, 0);
    this.#bus.export("/org/freedesktop/Notifications", this.#notifications);
  }

  /** The icon that was registered last: a bus name, a path, or both. */
  get #item(): { name: string; path: string } {
    const item = this.#watcher.items.at(-1);
    if (item === undefined) throw new Error("There is no icon.");
    const at = item.indexOf("/");
    return at === -1 ? { name: item, path: "/StatusNotifierItem" } : { name: item.slice(0, at), path: item.slice(at) };
  }

  async #menuPath(): Promise<string> {
    return (await this.#property("Menu")) as string;
  }

  async #property(name: string): Promise<unknown> {
    const [variant] = await this.#call(this.#item.path, "org.freedesktop.DBus.Properties", "Get", "ss", [ITEM, name]);
    return (variant as { value: unknown }).value;
  }

  async #call(path: string, face: string, member: string, signature: string, body: unknown[]): Promise<unknown[]> {
    const { name: destination } = this.#item;
    const message = new dbus.Message({ destination, path, interface: face, member, signature, body });
    const answer = await this.#bus.call(message);
    return answer?.body ?? [];
  }
}

type RawItem = [id: number, properties: Record<string, { value: unknown }>, items: { value: RawItem }[]];

function shownItem([id, properties, items]: RawItem): ShownItem {
  const of = (name: string): unknown => properties[name]?.value;
  const label = of("type") === "separator" ? "-" : String(of("label") ?? "");
  const isChecked = of("toggle-type") === undefined ? undefined : of("toggle-state") === 1;
  return {
    id,
    label,
    isEnabled: of("enabled") !== false,
    isChecked,
    items: items.map(({ value }) => shownItem(value)),
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as Readable });
  const failed = once(child, "error").then(([error]) => {
    throw error as Error;
  });
  const ended = once(lines, "close").then(() => {
    throw new Error(`${child.spawnfile} ended before it was ready.`);
  });
  const late = new Promise<never>((_done, fail) => {
    setTimeout(() => fail(new Error(`${child.spawnfile} is not ready.`)), READY_MS).unref();
  });
  for (const each of [failed, ended, late]) each.catch(() => undefined);
  const [line] = (await Promise.race([once(lines, "line"), failed, ended, late])) as [string];
  return line.trim();
}
