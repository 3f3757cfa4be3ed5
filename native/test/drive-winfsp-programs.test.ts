// Series of calls that programs of Windows make: Office, Explorer, browsers, whatever has files for a while only. Runs
// where drive-winfsp.test.ts does, and over the same stand-in. Share modes are not here: WinFsp's driver keeps them,
// and asks the drive nothing.
import { constants } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { ACCESS, ATTRIBUTE, DISPOSITION, OPTION, ticksOf } from "./support/windows-program.ts";
import type { WinFspRig } from "./support/winfsp-rig.ts";
import { contentOf, make, STATUS, statusOf, textOf, tryOpen, withRig } from "./support/winfsp-steps.ts";

const { O_RDONLY, O_RDWR } = constants;

const onWindows = process.platform === "win32" ? describe : describe.skip;

/** Opens a file that goes with its handle. */
async function openForAWhile({ program }: WinFspRig, path: string, disposition: number): Promise<number> {
  const access = ACCESS.read | ACCESS.write | ACCESS.delete;
  return (await program.ask("open", { path, access, disposition, options: OPTION.deleteOnClose })).handle;
}

/** Renames a file as ReplaceFile does: nothing may have the other name. */
function renameAside({ program }: WinFspRig, path: string, to: string): Promise<unknown> {
  const how = { path, access: ACCESS.delete };
  return program.with(how, ({ handle }) => program.ask("rename", { handle, to, isOn: false }));
}

onWindows("WinFsp drive: Office", () => {
  test(
    "replaces a document and keeps the one before as a backup, then removes that",
    withRig(async (rig) => {
      const { program, fake } = rig;
      await make(rig, "report.docx", "first");
      await program.chmod("report.docx", 0o660);
      const before = await program.stat("report.docx");
      await make(rig, "~WRD0001.tmp", "second");
      await renameAside(rig, "\\report.docx", "\\~WRL0002.tmp");
      await renameAside(rig, "\\~WRD0001.tmp", "\\report.docx");
      // The new one gets the rights of the old one.
      const rights = await program.with({ path: "\\~WRL0002.tmp", access: ACCESS.readControl }, ({ handle }) =>
        program.ask("getSecurity", { handle }),
      );
      const access = ACCESS.writeRights | ACCESS.writeAttributes;
      await program.with({ path: "\\report.docx", access }, ({ handle }) =>
        program.ask("setSecurity", { handle, to: rights.text.slice(rights.text.indexOf("D:")) }),
      );
      expect(await contentOf(rig, "~WRL0002.tmp")).toBe("first");
      expect((await program.stat("~WRL0002.tmp")).ino).toBe(before.ino);
      await program.unlink("~WRL0002.tmp");
      expect(await program.readdir("")).toEqual(["report.docx"]);
      expect(await contentOf(rig, "report.docx")).toBe("second");
      expect(fake.entryAt("report.docx")).toMatchObject({ mode: 0o660 });
      expect(fake.bytesAt("report.docx")?.toString()).toBe("second");
    }),
  );

  test(
    "says by a file of its own that it has a document open, and who reads the document meanwhile reads it to its end",
    withRig(async (rig) => {
      await make(rig, "report.docx", "first");
      const owner = await openForAWhile(rig, "\\~$report.docx", DISPOSITION.create);
      await rig.program.ask("write", { handle: owner, offset: 0, bytes: Buffer.from("Ann") });
      const reader = await rig.program.open("report.docx", O_RDONLY);
      await make(rig, "~WRD0001.tmp", "second");
      await rig.program.rename("~WRD0001.tmp", "report.docx");
      expect(textOf(await rig.program.read(reader, 0, 100))).toBe("first");
      await rig.program.close(reader);
      expect(await rig.program.readdir("")).toEqual(["report.docx", "~$report.docx"]);
      await rig.program.ask("close", { handle: owner });
      expect(await rig.program.readdir("")).toEqual(["report.docx"]);
      expect(await contentOf(rig, "report.docx")).toBe("second");
    }),
  );
});

onWindows("WinFsp drive: files that go with their handle", () => {
  test(
    "are there until it is closed, and their content is sent nowhere then",
    withRig(async (rig) => {
      const handle = await openForAWhile(rig, "\\temp", DISPOSITION.create);
      await rig.program.ask("write", { handle, offset: 0, bytes: Buffer.from("for a while") });
      expect(rig.fake.entryAt("temp")).toMatchObject({ type: "file" });
      rig.fake.clearLog();
      await rig.program.ask("close", { handle });
      expect(rig.fake.entryAt("temp")).toBeUndefined();
      expect(rig.fake.logOf("commit")).toEqual([]);
      expect(await tryOpen(rig, "\\temp", ACCESS.readData)).toBe(STATUS.nameNotFound);
    }),
  );

  test(
    "go also when they were there before, and read-only ones are refused",
    withRig(async (rig) => {
      await make(rig, "old", "text");
      await make(rig, "kept", "text");
      await rig.program.chmod("kept", 0o444);
      await rig.program.ask("close", { handle: await openForAWhile(rig, "\\old", DISPOSITION.open) });
      const how = { access: ACCESS.read | ACCESS.delete, options: OPTION.deleteOnClose };
      expect(await tryOpen(rig, "\\kept", how.access, how)).toBe(STATUS.cannotDelete);
      expect(await rig.program.readdir("")).toEqual(["kept"]);
    }),
  );

  test(
    "and folders do, where they are empty by then",
    withRig(async (rig) => {
      for (const name of ["empty", "full"]) await rig.program.mkdir(name);
      const options = OPTION.folder | OPTION.deleteOnClose;
      for (const path of ["\\empty", "\\full"]) {
        const { handle } = await rig.program.ask("open", { path, access: ACCESS.delete, options });
        if (path === "\\full") await make(rig, "full/a", "text");
        await rig.program.ask("close", { handle });
      }
      expect(await rig.program.readdir("")).toEqual(["full"]);
      expect(await contentOf(rig, "full/a")).toBe("text");
    }),
  );

  test(
    "a removal that was asked for and taken back removes nothing",
    withRig(async (rig) => {
      await make(rig, "a", "text");
      const { handle } = await rig.program.ask("open", { path: "\\a", access: ACCESS.delete });
      await rig.program.ask("dispose", { handle, isOn: true });
      await rig.program.ask("dispose", { handle, isOn: false });
      await rig.program.ask("close", { handle });
      expect(await contentOf(rig, "a")).toBe("text");
    }),
  );
});

onWindows("WinFsp drive: Explorer", () => {
  test(
    "copies a file: its size first, then its bytes, then its times",
    withRig(async (rig) => {
      const { program, fake } = rig;
      const access = ACCESS.read | ACCESS.write | ACCESS.delete;
      const { handle } = await program.ask("open", { path: "\\copy", access, disposition: DISPOSITION.create });
      await program.ask("setSize", { handle, size: 65_536, isOn: true });
      await program.ask("setSize", { handle, size: 11 });
      await program.ask("write", { handle, offset: 0, bytes: Buffer.from("hello ") });
      await program.ask("write", { handle, offset: 6, bytes: Buffer.from("world") });
      const time = ticksOf(1_700_000_000_123_456_700n);
      await program.ask("setBasic", { handle, atime: time, mtime: time, attributes: ATTRIBUTE.normal });
      await program.ask("close", { handle });
      expect(fake.bytesAt("copy")?.toString()).toBe("hello world");
      expect(fake.entryAt("copy")).toMatchObject({ mtimeNs: 1_700_000_000_123_456_700n, sizeBytes: 11 });
    }),
  );

  test(
    "makes a desktop.ini, hidden and of the system, and marks its folder: of that nothing is kept, and nothing refused",
    withRig(async (rig) => {
      const { program, fake } = rig;
      await program.mkdir("Photos");
      const attributes = ATTRIBUTE.hidden | ATTRIBUTE.system;
      const path = "\\Photos\\desktop.ini";
      const how = { path, access: ACCESS.write, disposition: DISPOSITION.create, attributes };
      await program.with(how, async ({ handle }) => {
        await program.ask("write", { handle, offset: 0, bytes: Buffer.from("[.ShellClassInfo]\r\n") });
        expect((await program.ask("setBasic", { handle, attributes })).info?.attributes).toBe(ATTRIBUTE.normal);
      });
      const marked = { path: "\\Photos", access: ACCESS.writeAttributes, options: OPTION.folder };
      const { info } = await program.with(marked, ({ handle }) =>
        program.ask("setBasic", { handle, attributes: ATTRIBUTE.folder | ATTRIBUTE.readOnly }),
      );
      expect(info?.attributes).toBe(ATTRIBUTE.folder);
      expect(fake.entryAt("Photos")).toMatchObject({ mode: 0o755 });
      expect(fake.entryAt("Photos/desktop.ini")).toMatchObject({ mode: 0o644 });
      await make(rig, "Photos/more", "text");
      expect(await contentOf(rig, "Photos/DESKTOP.INI")).toBe("[.ShellClassInfo]\r\n");
    }),
  );

  test(
    "sees one number of a file, whatever its name is then",
    withRig(async ({ program, fake }) => {
      fake.remoteWrite("a", Buffer.from("text"));
      const { ino } = await program.stat("a");
      await program.rename("a", "b");
      expect((await program.stat("b")).ino).toBe(ino);
    }),
  );
});

onWindows("WinFsp drive: browsers", () => {
  test(
    "give a download its name and then its zone: that is refused, and leaves the file as it is",
    withRig(async (rig) => {
      await make(rig, "setup.exe.part", "MZ");
      const fd = await rig.program.open("setup.exe.part", O_RDWR);
      await rig.program.rename("setup.exe.part", "setup.exe");
      expect(await statusOf(make(rig, "setup.exe:Zone.Identifier", "[ZoneTransfer]"))).toBe(STATUS.nameInvalid);
      await rig.program.write(fd, 2, Buffer.from("..."));
      await rig.program.close(fd);
      expect(await tryOpen(rig, "\\setup.exe:Zone.Identifier", ACCESS.readData)).toBe(STATUS.nameInvalid);
      expect(await rig.program.readdir("")).toEqual(["setup.exe"]);
      expect(rig.fake.bytesAt("setup.exe")?.toString()).toBe("MZ...");
    }),
  );
});
