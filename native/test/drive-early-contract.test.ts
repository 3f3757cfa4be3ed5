// The contract of Drive where it answers before the agent hears of a change: programs see the same.
import { driveContract } from "./support/drive-contract.ts";
import { agentOf } from "./support/drive-rig.ts";
import { memoryRig } from "./support/memory-rig.ts";

driveContract(
  "memory drive that answers early",
  async (changes) => {
    const rig = await memoryRig(changes);
    rig.allowEarly();
    return { ...rig, agent: agentOf(rig.fake, () => rig.drive.given()) };
  },
  {
    "a new file over which another client moves one before the answer is its program's own, unseen (%i)":
      "nobody else changes anything while a drive answers so",
    "a failed close has been told: it is not tried again at the release, and the file is let go":
      "what was answered does not fail",
  },
);
