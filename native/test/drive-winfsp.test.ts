// The WinFsp drive against the contract, and what only a drive of Windows shows. Runs under Windows or Wine
// (build-all.long.test.ts) over a stand-in for WinFsp's library, which calls the drive as the real one does.
import { constants } from "node:fs";
import { hostname } from "node:os";
import { describe, expect, test } from "@jest/globals";
import { kernelDrive } from "../drive.ts";
import { driveContract } from "./support/drive-contract.ts";
import { RIG_SETTINGS } from "./support/drive-rig.ts";
import { ACCESS, ATTRIBUTE, DISPOSITION, OPTION, ticksOf } from "./support/windows-program.ts";
import { winfspRig } from "./support/winfsp-rig.ts";
import { contentOf, make, STATUS, statusOf, textOf, tryOpen, withRig } from "./support/winfsp-steps.ts";

const { O_RDONLY, O_RDWR, O_CREAT, O_WRONLY, O_EXCL } = constants;
const NOTIFY = { added: 1, removed: 2, modified: 3, fileName: 1, folderName: 2 } as const;

const isWindows = process.platform === "win32";

/** Starts a drive that is to fail. */
function start(mountpoint: string): Promise<unknown> {
  const settings = { source: "runnel:docs", overlayFolder: "", overlayPrefix: "", isReadOnly: false };
  const drive = kernelDrive({ mountpoint, ...settings, ...RIG_SETTINGS });
  return drive.start({ requests: () => {}, notice: () => {} });
}

(isWindows ? describe : describe.skip)("WinFsp drive: without WinFsp", () => {
  // The first test: the stand-in, once loaded, is there for good.
  test("says that it has to be installed, and where from", async () => {
    await expect(start("R:")).rejects.toMatchObject({
      kind: "Unavailable",
      message: expect.stringMatching(
        /^WinFsp is not installed: install it from https:\/\/github\.com\/winfsp\/winfsp,/,
      ),
    });
  });
});

// A block of its own: the contract has a drive for each test in it, and there is one at a time.
(isWindows ? describe : describe.skip)("contract", () => driveContract("WinFsp drive", winfspRig));

(isWindows ? describe : describe.skip)("WinFsp drive: what Windows is told of it", () => {
  test(
    "it is a network drive at a letter, finds names in any case, has no streams, and is asked every time",
    withRig(async ({ standIn }) => {
      expect(await standIn.volume()).toEqual({
        mountpoint: "R:",
        prefix: "\\runnel-R\\docs",
        device: "WinFsp.Net",
        isReadOnly: false,
        isCaseSensitive: false,
        hasStreams: false,
        fileInfoTimeoutMs: 0,
      });
    }),
  );

  test(
    "its space and its name are the volume's",
    withRig(async ({ program }) => {
      const { label, totalBytes, freeBytes } = await program.ask("volume", {});
      expect({ label, totalBytes, freeBytes }).toEqual({ label: "docs", totalBytes: 2 ** 30, freeBytes: 2 ** 29 });
    }),
  );

  test(
    "a drive that may only be read says so to programs and to Windows",
    withRig(async (rig) => {
      rig.fake.remoteWrite("a", Buffer.from("text"));
      expect((await rig.standIn.volume()).isReadOnly).toBe(true);
      expect(await statusOf(rig.program.mkdir("d"))).toBe(STATUS.writeProtected);
      expect(await statusOf(rig.program.open("a", O_RDWR))).toBe(STATUS.writeProtected);
      expect(await statusOf(rig.program.unlink("a"))).toBe(STATUS.writeProtected);
      expect(await contentOf(rig, "a")).toBe("text");
    }, true),
  );

  test("a share has no letter, is found in any case, and is there once", async () => {
    const place = "\\\\runnel\\docs";
    const rig = await winfspRig({}, false, place);
    try {
      expect(await rig.standIn.volume(place)).toMatchObject({
        mountpoint: "",
        prefix: "\\runnel\\docs",
        device: "WinFsp.Net",
      });
      await make(rig, "a", "text");
      expect(await contentOf(rig, "a")).toBe("text");
      for (const name of [place, "\\\\Runnel\\DOCS"])
        await expect(start(name)).rejects.toMatchObject({ kind: "Unavailable", message: /name is there already/ });
      const [other, letter] = [await winfspRig({}, false, "\\\\runnel\\photos"), await winfspRig()];
      expect((await other.standIn.volume("\\\\runnel\\photos")).prefix).toBe("\\runnel\\photos");
      await Promise.all([other.close(), letter.close()]);
    } finally {
      await rig.close();
    }
    await (await winfspRig({}, false, place)).close();
  });

  test.each([
    ["a folder", "R:\\folder", /letter or a share/],
    ["a folder in a share", "\\\\runnel\\docs\\folder", /letter or a share/],
    ["a server alone", "\\\\runnel\\", /letter or a share/],
    ["nothing", "", /letter or a share/],
    ["a letter in use", "C:", /in use/],
    ["a share of this computer", `\\\\${hostname()}\\docs`, /name of this computer/],
    ["a share of this computer in other letters", `\\\\${hostname().toUpperCase()}\\docs`, /name of this computer/],
  ])("a place that is %s is refused", async (_, mountpoint, message) => {
    await expect(start(mountpoint)).rejects.toMatchObject({ kind: "Unavailable", message });
  });

  test(
    "it is busy while a program has a file open, and not for an open folder",
    withRig(async ({ drive, program }) => {
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await expect(drive.close(false)).rejects.toMatchObject({ kind: "Busy" });
      await program.close(fd);
      await program.ask("open", { path: "\\", access: ACCESS.readData, options: OPTION.folder });
      await drive.close(false);
    }),
  );

  test(
    "when WinFsp ends it, the agent hears, and what waits is answered",
    withRig(async ({ fake, program, standIn, until }) => {
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.write(fd, 0, Buffer.from("text"));
      await standIn.endOutside();
      await until(async () => fake.logOf("unmounted").length === 1);
      expect(fake.logOf("unmounted")).toMatchObject([{ reason: "WinFsp has ended the drive." }]);
    }),
  );
});

(isWindows ? describe : describe.skip)("WinFsp drive: names", () => {
  test(
    "are found in any case, as written first, and told as the folder has them",
    withRig(async (rig) => {
      rig.fake.remoteMkdir("Ärger");
      rig.fake.remoteWrite("Ärger/Read Me", Buffer.from("one"));
      rig.fake.remoteWrite("Ärger/READ me", Buffer.from("two"));
      expect(await contentOf(rig, "ÄRGER/READ me")).toBe("two");
      expect(await contentOf(rig, "äRGER/Read Me")).toBe("one");
      expect(await contentOf(rig, "ärger/read me")).toBe("two"); // the first of the two
      const { text: path, handle } = await rig.program.ask("open", {
        path: "\\ärger\\READ ME",
        access: ACCESS.readData,
      });
      expect(path).toBe("\\Ärger\\READ me");
      await rig.program.ask("close", { handle });
      expect(await statusOf(rig.program.open("ärger/READ ME", O_WRONLY | O_CREAT | O_EXCL))).toBe(STATUS.collision);
      expect(await statusOf(rig.program.mkdir("ÄRGER"))).toBe(STATUS.collision);
    }),
  );

  test(
    "come and go in a large folder, and are found in any case all the time",
    withRig(async (rig) => {
      rig.fake.fill("d", 3000);
      expect((await rig.program.stat("D/F2999")).sizeBytes).toBe(9);
      await make(rig, "d/New", "one");
      expect(await contentOf(rig, "d/nEW")).toBe("one");
      await rig.program.unlink("d/NEW");
      expect(await tryOpen(rig, "\\d\\new", ACCESS.readData)).toBe(STATUS.nameNotFound);
      rig.fake.remoteRename("d/f7", "d/new");
      expect(await contentOf(rig, "d/NEW")).toBe("file 7");
      expect(await tryOpen(rig, "\\d\\F7", ACCESS.readData)).toBe(STATUS.nameNotFound);
      for (let round = 0; round < 20; round++) {
        await make(rig, `d/temp ${round}`);
        await rig.program.unlink(`d/TEMP ${round}`);
      }
      rig.fake.clearLog();
      expect(await tryOpen(rig, "\\d\\temp 3", ACCESS.readData)).toBe(STATUS.nameNotFound);
      expect(rig.fake.logOf("list")).toEqual([]);
    }),
  );

  test(
    "a rename may change the case only, and otherwise takes the place of what differs in case",
    withRig(async (rig) => {
      await make(rig, "letter", "text");
      await rig.program.rename("letter", "Letter");
      expect(await rig.program.readdir("")).toEqual(["Letter"]);
      await make(rig, "other", "more");
      await rig.program.rename("other", "LETTER");
      expect(await rig.program.readdir("")).toEqual(["Letter"]);
      expect(await contentOf(rig, "letter")).toBe("more");
    }),
  );

  test(
    "that Windows keeps for devices are not made, by whatever way, but found where another system made them",
    withRig(async (rig) => {
      await make(rig, "a");
      for (const name of ["con", "NUL.txt", "Com1", "lpt9.tar.gz", "COM¹", "aux ", "prn.", "end.", "end "]) {
        expect([name, await statusOf(make(rig, name))]).toEqual([name, STATUS.nameInvalid]);
        expect([name, await statusOf(rig.program.mkdir(name))]).toEqual([name, STATUS.nameInvalid]);
        expect([name, await statusOf(rig.program.rename("a", name))]).toEqual([name, STATUS.nameInvalid]);
      }
      for (const name of ["console", "com", "com10", "null"]) await make(rig, name);
      rig.fake.remoteWrite("con", Buffer.from("text"));
      expect(await contentOf(rig, "con")).toBe("text");
      expect(await rig.program.readdir("")).toContain("con");
    }),
  );

  test(
    "with characters that Windows has none of are shown with others, which lead back",
    withRig(async (rig) => {
      rig.fake.remoteWrite('what? "a:b"|c', Buffer.from("text"));
      rig.fake.remoteWrite("end.", Buffer.from("dot"));
      const shown = ["end\uf02e", "what\uf03f \uf022a\uf03ab\uf022\uf07cc"];
      expect(await rig.program.readdir("")).toEqual(shown);
      expect(await contentOf(rig, shown[0] ?? "")).toBe("dot");
      await rig.program.rename(shown[1] ?? "", "b\uf03ac");
      expect(rig.fake.entryAt("b:c")).toMatchObject({ type: "file" });
    }),
  );

  test(
    "of alternate streams are refused, and nothing is made",
    withRig(async (rig) => {
      await make(rig, "a", "text");
      for (const path of ["a:stream", "a:stream:$DATA", "a::$DATA", "new:Zone.Identifier"])
        expect(await statusOf(make(rig, path))).toBe(STATUS.nameInvalid);
      expect(await rig.program.readdir("")).toEqual(["a"]);
    }),
  );

  test(
    "that lead nowhere say whether a folder on the way is missing",
    withRig(async (rig) => {
      await make(rig, "a");
      expect(await tryOpen(rig, "\\none", ACCESS.read)).toBe(STATUS.nameNotFound);
      expect(await tryOpen(rig, "\\none\\a", ACCESS.read)).toBe(STATUS.pathNotFound);
      expect(await tryOpen(rig, "\\a\\b", ACCESS.read)).toBe(STATUS.pathNotFound);
      expect(await tryOpen(rig, "\\a", ACCESS.read, { options: OPTION.folder })).toBe(STATUS.notFolder);
      expect(await tryOpen(rig, "\\", ACCESS.read, { options: OPTION.notFolder })).toBe(STATUS.isFolder);
    }),
  );

  test(
    "symlinks lead on, also from the middle of a path and from the drive's top, and can be taken away",
    withRig(async (rig) => {
      await rig.program.mkdir("d");
      await rig.program.mkdir("d/e");
      await make(rig, "d/e/a", "text");
      await rig.program.symlink("d/e", "into");
      await rig.program.symlink("../../d/e/a", "d/e/back");
      await rig.program.symlink("/d/e/a", "d/top");
      expect(rig.fake.entryAt("d/e/back")).toMatchObject({ type: "symlink", target: "../../d/e/a" });
      expect(await contentOf(rig, "into/a")).toBe("text");
      expect(await contentOf(rig, "d/e/back")).toBe("text");
      expect(await contentOf(rig, "d/top")).toBe("text");
      await rig.program.unlink("into");
      expect(await rig.program.readdir("")).toEqual(["d"]);
      expect(await contentOf(rig, "d/e/a")).toBe("text");
    }),
  );

  test(
    "one name of a folder is told without the others",
    withRig(async (rig) => {
      rig.fake.fill("d", 50);
      const { handle } = await rig.program.ask("open", { path: "\\d", access: ACCESS.readData });
      const { names } = await rig.program.ask("dirInfo", { handle, path: "F7" });
      expect(names).toMatchObject([{ name: "f7", sizeBytes: 6, attributes: ATTRIBUTE.normal }]);
      expect(await statusOf(rig.program.ask("dirInfo", { handle, path: "none" }))).toBe(STATUS.nameNotFound);
      await rig.program.ask("close", { handle });
    }),
  );

  test(
    "a listing has itself and the folder above, but at the drive's top",
    withRig(async ({ fake, program }) => {
      fake.fill("d", 2);
      const listed = async (path: string): Promise<string[]> =>
        program.with({ path, access: ACCESS.readData }, async ({ handle }) =>
          (await program.ask("list", { handle })).names.map(({ name }) => name),
        );
      expect(await listed("\\")).toEqual(["d"]);
      expect(await listed("\\d")).toEqual([".", "..", "f0", "f1"]);
    }),
  );
});

(isWindows ? describe : describe.skip)("WinFsp drive: rights", () => {
  const READ_OWNED = /^O:(\S+?)G:(\S+?)D:P(?:AI)?\(A;;/;

  test(
    "are the permissions: an owner's, and those of others",
    withRig(async (rig) => {
      rig.fake.remoteWrite("a", Buffer.from("text"));
      expect(await tryOpen(rig, "\\a", ACCESS.read | ACCESS.write)).toBe(0);
      await rig.program.chmod("a", 0o400);
      expect(rig.fake.entryAt("a")).toMatchObject({ mode: 0o400 });
      expect(await tryOpen(rig, "\\a", ACCESS.read)).toBe(0);
      expect(await tryOpen(rig, "\\a", ACCESS.writeData)).toBe(STATUS.accessDenied);
      // The owner may give them back.
      await rig.program.chmod("a", 0o640);
      expect(rig.fake.entryAt("a")).toMatchObject({ mode: 0o640 });
      expect(await tryOpen(rig, "\\a", ACCESS.read | ACCESS.write)).toBe(0);
    }),
  );

  test(
    "an owner whose bits say less than those of everyone has less",
    withRig(async (rig) => {
      rig.fake.remoteWrite("a", Buffer.from("text"));
      rig.fake.remoteChmod("a", 0o066);
      expect(await tryOpen(rig, "\\a", ACCESS.readData)).toBe(STATUS.accessDenied);
      expect(await tryOpen(rig, "\\a", ACCESS.readAttributes)).toBe(0);
    }),
  );

  test(
    "other owners and groups have accounts of their own, and a program may give a file to one",
    withRig(async (rig) => {
      rig.fake.remoteWrite("a", Buffer.from("text"));
      const access = ACCESS.readControl | ACCESS.writeOwner;
      await rig.program.with({ path: "\\a", access }, async ({ handle }) => {
        const { text: before } = await rig.program.ask("getSecurity", { handle });
        expect(before).toMatch(READ_OWNED);
        expect(before).not.toMatch(/S-1-22-/);
        await rig.program.ask("setSecurity", { handle, to: "O:S-1-22-1-77G:S-1-22-2-78" });
        expect((await rig.program.ask("getSecurity", { handle })).text).toMatch(/^O:S-1-22-1-77G:S-1-22-2-78D:P/);
      });
      expect(rig.fake.entryAt("a")).toMatchObject({ uid: 77, gid: 78, mode: 0o644 });
      expect(await tryOpen(rig, "\\a", ACCESS.readData)).toBe(0);
      expect(await tryOpen(rig, "\\a", ACCESS.writeData)).toBe(STATUS.accessDenied);
    }),
  );

  test(
    "a list that names everyone sets all three, and leaves alone what lets a file run",
    withRig(async (rig) => {
      rig.fake.remoteWrite("run", Buffer.from("#!"));
      rig.fake.remoteChmod("run", 0o4755);
      const set = (to: string): Promise<unknown> =>
        rig.program.with({ path: "\\run", access: ACCESS.readControl | ACCESS.writeRights }, ({ handle }) =>
          rig.program.ask("setSecurity", { handle, to }),
        );
      await set("D:P(A;;FA;;;WD)");
      expect(rig.fake.entryAt("run")).toMatchObject({ mode: 0o4777 });
      await set("D:P(D;;0x2;;;WD)(A;;GA;;;AU)");
      expect(rig.fake.entryAt("run")).toMatchObject({ mode: 0o4555 });
    }),
  );

  test(
    "what is removed is its folder's to allow",
    withRig(async (rig) => {
      await rig.program.mkdir("d");
      await make(rig, "d/a");
      rig.fake.remoteChmod("d/a", 0o200);
      await rig.program.unlink("d/a");
      await make(rig, "d/b");
      // Somebody else's: Wine lets an owner remove what it owns, whatever the rights.
      await rig.program.with({ path: "\\d\\b", access: ACCESS.writeOwner }, ({ handle }) =>
        rig.program.ask("setSecurity", { handle, to: "O:S-1-22-1-77" }),
      );
      rig.fake.remoteChmod("d", 0o555);
      expect(await statusOf(rig.program.unlink("d/b"))).toBe(STATUS.accessDenied);
      expect(await statusOf(make(rig, "d/c"))).toBe(STATUS.accessDenied);
    }),
  );

  test(
    "read-only is that nobody may write, both ways, and keeps a file from being removed",
    withRig(async (rig) => {
      const how = { path: "\\a", access: ACCESS.read, attributes: ATTRIBUTE.readOnly };
      await rig.program.with({ ...how, disposition: DISPOSITION.create, options: OPTION.notFolder }, async () => {});
      expect(rig.fake.entryAt("a")).toMatchObject({ mode: 0o444 });
      expect(await statusOf(rig.program.unlink("a"))).toBe(STATUS.cannotDelete);
      const set = (attributes: number): Promise<number> =>
        rig.program.with({ path: "\\a", access: ACCESS.writeAttributes }, async ({ handle }) => {
          const told = await rig.program.ask("setBasic", { handle, attributes });
          return told.info?.attributes ?? 0;
        });
      expect(await set(ATTRIBUTE.normal)).toBe(ATTRIBUTE.normal);
      expect(rig.fake.entryAt("a")).toMatchObject({ mode: 0o644 });
      expect(await set(ATTRIBUTE.readOnly)).toBe(ATTRIBUTE.readOnly);
      expect(rig.fake.entryAt("a")).toMatchObject({ mode: 0o444 });
    }),
  );
});

(isWindows ? describe : describe.skip)("WinFsp drive: files", () => {
  test(
    "what is opened without its content asks for none",
    withRig(async (rig) => {
      rig.fake.remoteWrite("a", Buffer.from("text"));
      rig.fake.clearLog();
      expect(await tryOpen(rig, "\\a", ACCESS.readAttributes | ACCESS.writeAttributes)).toBe(0);
      expect(rig.fake.logOf("open")).toEqual([]);
    }),
  );

  test(
    "a file that only was read costs nothing at its close, one that was written is saved then",
    withRig(async (rig) => {
      await make(rig, "a", "text");
      expect(rig.fake.bytesAt("a")?.toString()).toBe("text");
      rig.fake.clearLog();
      expect(await contentOf(rig, "a")).toBe("text");
      expect(rig.fake.logOf("commit")).toEqual([]);
    }),
  );

  test(
    "a close that could not save says nothing, and lets the file go",
    withRig(async (rig) => {
      const fd = await rig.program.open("a", O_WRONLY | O_CREAT);
      await rig.program.write(fd, 0, Buffer.from("text"));
      rig.fake.failNext("commit", "Io");
      await rig.program.close(fd);
      await rig.until(async () => rig.fake.logOf("closed").length === 1);
      expect(rig.fake.logOf("commit")).toMatchObject([{ reason: "flush" }]);
      expect(rig.fake.statistics().openFiles).toBe(0);
    }),
  );

  test(
    "space taken beforehand changes no size, and less than there is cuts",
    withRig(async (rig) => {
      await make(rig, "a", "0123456789");
      const fd = await rig.program.open("a", O_RDWR);
      const { handle } = await rig.program.ask("open", { path: "\\a", access: ACCESS.write });
      const sizeAfter = async (size: number): Promise<number | undefined> =>
        (await rig.program.ask("setSize", { handle, size, isOn: true })).info?.sizeBytes;
      expect(await sizeAfter(65_536)).toBe(10);
      expect(await sizeAfter(4)).toBe(4);
      expect(textOf(await rig.program.read(fd, 0, 100))).toBe("0123");
      await rig.program.ask("close", { handle });
      await rig.program.close(fd);
      expect(rig.fake.bytesAt("a")?.toString()).toBe("0123");
    }),
  );

  test(
    "a folder that is not empty is not removed, nor replaced by a rename",
    withRig(async (rig) => {
      await rig.program.mkdir("d");
      await make(rig, "d/a");
      await make(rig, "b");
      expect(await statusOf(rig.program.rmdir("d"))).toBe(STATUS.notEmpty);
      expect(await statusOf(rig.program.rename("b", "d"))).toBe(STATUS.accessDenied);
      const how = { path: "\\b", access: ACCESS.delete };
      const kept = rig.program.with(how, ({ handle }) =>
        rig.program.ask("rename", { handle, to: "\\D\\A", isOn: false }),
      );
      expect(await statusOf(kept)).toBe(STATUS.collision);
    }),
  );

  test(
    "what another client put under the name of an open file is neither removed nor renamed with it",
    withRig(async (rig) => {
      for (const name of ["a", "b", "c", "d"]) await make(rig, name, name);
      const open = (path: string): Promise<{ handle: number }> =>
        rig.program.ask("open", { path, access: ACCESS.delete });
      const [first, second] = [await open("\\a"), await open("\\c")];
      await rig.program.ask("dispose", { handle: first.handle, isOn: true });
      rig.fake.remoteRename("b", "a");
      rig.fake.remoteRename("d", "c");
      const renamed = rig.program.ask("rename", { handle: second.handle, to: "\\e", isOn: true });
      expect(await statusOf(renamed)).toBe(STATUS.fileInvalid);
      for (const { handle } of [first, second]) await rig.program.ask("close", { handle });
      expect(await rig.program.readdir("")).toEqual(["a", "c"]);
      expect(await contentOf(rig, "a")).toBe("b");
    }),
  );

  test(
    "times are what was set, to 100 ns, and that of creation is the earliest known",
    withRig(async (rig) => {
      rig.fake.remoteWrite("a", Buffer.from("text"));
      const [atime, mtime] = [ticksOf(5_000_000_100n), ticksOf(7_000_000_200n)];
      await rig.program.with({ path: "\\a", access: ACCESS.writeAttributes }, async ({ handle }) => {
        const { info } = await rig.program.ask("setBasic", { handle, atime, mtime });
        expect(info).toMatchObject({ access: atime, write: mtime, creation: mtime });
      });
      expect(rig.fake.entryAt("a")).toMatchObject({ mtimeNs: 7_000_000_200n });
    }),
  );

  test(
    "requests of one folder wait beside one another, more of them than WinFsp would begin by itself",
    withRig(async (rig) => {
      for (let index = 0; index < 40; index++) rig.fake.remoteWrite(`f${index}`, Buffer.from("text"));
      rig.fake.remoteWrite("b", Buffer.from("other"));
      rig.fake.cache("b");
      rig.fake.hold("open", "create");
      const held = Array.from({ length: 40 }, (_, index) => rig.program.open(`f${index}`, O_RDONLY));
      const made = rig.program.open("new", O_WRONLY | O_CREAT);
      await rig.until(async () => rig.fake.heldCount() === 41);
      expect(await contentOf(rig, "b")).toBe("other");
      rig.fake.release();
      for (const fd of await Promise.all([...held, made])) await rig.program.close(fd);
    }),
  );
});

(isWindows ? describe : describe.skip)("WinFsp drive: changes elsewhere", () => {
  test(
    "are told to those who watch, with the names as the folders have them",
    withRig(async (rig) => {
      rig.fake.remoteMkdir("Docs");
      await rig.until(async () => (await rig.standIn.heard()).length > 0);
      rig.fake.remoteWrite("Docs/a?", Buffer.from("one"));
      rig.fake.remoteWrite("Docs/a?", Buffer.from("two"));
      rig.fake.remoteRename("Docs/a?", "Docs/b");
      rig.fake.remoteRemove("Docs/b");
      rig.fake.remoteMkdir("Docs/sub");
      const heard: string[] = [];
      await rig.until(async () => {
        for (const [action, filter, path] of await rig.standIn.heard()) {
          const isName = filter === NOTIFY.fileName || filter === NOTIFY.folderName;
          heard.push(`${action} ${isName ? filter : "content"} ${path}`);
        }
        return heard.length >= 6;
      });
      expect(heard).toEqual([
        `${NOTIFY.added} ${NOTIFY.fileName} \\Docs\\a\uf03f`,
        `${NOTIFY.modified} content \\Docs\\a\uf03f`,
        `${NOTIFY.added} ${NOTIFY.fileName} \\Docs\\b`,
        `${NOTIFY.removed} ${NOTIFY.fileName} \\Docs\\a\uf03f`,
        `${NOTIFY.removed} ${NOTIFY.fileName} \\Docs\\b`,
        `${NOTIFY.added} ${NOTIFY.folderName} \\Docs\\sub`,
      ]);
    }),
  );

  test(
    "what a program here does is told by Windows itself, not once more",
    withRig(async (rig) => {
      await make(rig, "a", "text");
      await rig.program.rename("a", "b");
      rig.fake.remoteWrite("last", Buffer.from("x"));
      const heard: string[] = [];
      await rig.until(async () => {
        heard.push(...(await rig.standIn.heard()).map(([, , path]) => path));
        return heard.includes("\\last");
      });
      expect(heard).toEqual(["\\last"]);
    }),
  );
});
