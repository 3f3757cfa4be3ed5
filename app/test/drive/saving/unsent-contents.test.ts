// Unsent contents as programs see them, where showing one fails.
import { expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { UnsentContents } from "../../../src/agent/drive/saving/unsent-contents.ts";
import { EPOCH } from "../../journal/journal-machine.ts";
import { NODE, SaveRig } from "./save-rig.ts";

test.each([
  ["NoSpace", "is shown at the next try"],
  ["Unreachable", "is shown at the next try"],
  ["Gone", "is shown no more"],
] as const)("an unsent content that cannot be shown because of %s %s", async (kind, what) => {
  const rig = await new SaveRig().open();
  rig.writes = [rig.refuse("Unreachable")];
  await rig.close(1);
  const [save] = rig.saves.unsent();
  const failures = [new RunnelError(kind, "show", "It cannot be shown.")];
  const opened: unknown[] = [];
  const drive = {
    putContent: () => {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
    },
    putNode: () => undefined,
    dropContent: () => true,
    opened: (_id: number, given: unknown) => void opened.push(given),
  };
  const state = rig.states.get(NODE);
  const tree = { node: async () => state, known: () => state, entry: () => state };
  const contents = new UnsentContents({
    drive,
    tree,
    saves: rig.saves,
    dataFolder: "/data",
    session: { isResponsive: true },
    epoch: () => EPOCH,
    log: () => undefined,
  } as unknown as ConstructorParameters<typeof UnsentContents>[0]);
  const open = (): Promise<boolean> =>
    contents.open({ op: "open", id: 7, node: NODE, wantsWrite: false, truncates: false } as never);
  if (what === "is shown no more") {
    expect([await open(), await open(), opened]).toEqual([false, false, []]);
    return;
  }
  await expect(open()).rejects.toMatchObject({ kind });
  const version = save?.shownAs;
  expect([await open(), opened]).toEqual([true, [{ content: version, version }]]);
});
