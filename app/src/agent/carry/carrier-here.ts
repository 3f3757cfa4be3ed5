// Makes the carrier of this process's agent, with the real engines.
import { realDisk, threadExecutor } from "@runnel/native";
import { RealClock } from "@runnel/shared";
import { AgentHome } from "../control/index.ts";
import { Carrier } from "./carry.ts";

let carrier: Carrier | undefined;

export function carrierHere(): Carrier {
  const { folder: workFolder } = new AgentHome();
  carrier ??= new Carrier({ disk: realDisk(), executor: threadExecutor(), clock: new RealClock(), workFolder });
  return carrier;
}
