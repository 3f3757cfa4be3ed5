// Postfix of Debian in a clean tree, as many as a test wants: each with folders, ports and a queue of its own. What a
// relay needs of it is read from docs/transfer.md.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import type { DebianRoot } from "../installers/debian-root.ts";

export interface PostfixSettings {
  name: string;
  /** Port where it takes mails. */
  port: number;
  /** Lines of main.cf beyond those that a test's own needs. */
  main: readonly string[];
  /** The service in master.cf that takes mails. */
  service?: string;
}

const PAGE = new URL("../../../docs/transfer.md", import.meta.url);

/** The settings that docs/transfer.md gives, with ports of a test: of A in main.cf, of B in master.cf. */
export function documentedSettings(ports: { relayA: number; postfixB: number }): { main: string[]; service: string } {
  const [, section = ""] = /\n### Between two Postfix\n([^]*?)\n##/.exec(readFileSync(PAGE, "utf8")) ?? [];
  const blocks = section.match(/(?:\n {4}.*)+/g)?.map((block) => block.replaceAll(/^ {4}/gm, "").trim()) ?? [];
  const [main, , service] = blocks;
  const isRight = main?.includes("]:10025}") === true && service?.startsWith("127.0.0.1:10026 inet") === true;
  if (!isRight || main === undefined || service === undefined) throw new Error(`The page has others: ${section}`);
  return {
    main: main.replace("10025", String(ports.relayA)).split("\n"),
    service: service.replace("10026", String(ports.postfixB)),
  };
}

const INSTALL_MS = 240_000;
/** A service for each process, none in a chroot of its own (master(5)). */
const SERVICES = `
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`;

/** Installs it, and lets none start by itself. */
export async function installPostfix(debian: DebianRoot): Promise<void> {
  writeFileSync(debian.path("usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  await debian.mustRun("apt-get -qq update", { deadlineMs: INSTALL_MS });
  await debian.mustRun("apt-get -qq install -y --no-install-recommends postfix 2>&1", { deadlineMs: INSTALL_MS });
  await debian.mustRun("groupadd -g 5000 vmail && useradd -u 5000 -g vmail vmail");
}

export class Postfix {
  readonly port: number;
  readonly #debian: DebianRoot;
  readonly #name: string;

  private constructor(debian: DebianRoot, name: string, port: number) {
    this.#debian = debian;
    this.#name = name;
    this.port = port;
  }

  static async start(debian: DebianRoot, { name, port, main, service }: PostfixSettings): Promise<Postfix> {
    const folder = debian.path(`etc/postfix-${name}`);
    mkdirSync(folder);
    const lines = [
      "compatibility_level = 3.6",
      `queue_directory = /var/spool/postfix-${name}`,
      `data_directory = /var/lib/postfix-${name}`,
      `maillog_file = /var/log/postfix-${name}.log`,
      `multi_instance_name = postfix-${name}`,
      `myhostname = ${name}.example`,
      "mydestination =",
      "inet_interfaces = loopback-only",
      "inet_protocols = ipv4",
      "smtp_tls_security_level = none",
      "alias_maps =",
      // A deferred mail is tried again at once.
      "queue_run_delay = 2s",
      "minimal_backoff_time = 1s",
      "maximal_backoff_time = 2s",
      ...main,
      "",
    ];
    writeFileSync(`${folder}/main.cf`, lines.join("\n"));
    writeFileSync(`${folder}/master.cf`, `${service ?? `127.0.0.1:${port} inet n - n - - smtpd`}${SERVICES}`);
    await debian.mustRun(`mkdir -p /var/spool/postfix-${name} && install -d -o postfix /var/lib/postfix-${name}`);
    await debian.mustRun(`install -d -o vmail -g vmail /var/vmail-${name}`);
    await debian.mustRun(`postfix -c /etc/postfix-${name} start >/dev/null 2>&1 </dev/null`);
    return new Postfix(debian, name, port);
  }

  /** Mails that were delivered to a user, as they lie in the maildir. */
  delivered(user: string): Buffer[] {
    const folder = this.#debian.path(`var/vmail-${this.#name}/${user}/new`);
    if (!existsSync(folder)) return [];
    return readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`));
  }

  /** Lines of its log. */
  log(): string {
    return readFileSync(this.#debian.path(`var/log/postfix-${this.#name}.log`), "utf8");
  }

  /** Mails in its queue. */
  async queued(): Promise<number> {
    const said = await this.#debian.mustRun(`postqueue -c /etc/postfix-${this.#name} -j`);
    return said.split("\n").filter((line) => line !== "").length;
  }
}
