// What the connections of a device have in common: their turns to be heard, and the places in which their answers are made.
import { Places } from "./answer-turns.ts";
import { DeviceTurns } from "./device-turns.ts";

export class DeviceShare {
  readonly turns = new DeviceTurns();
  readonly answers = new Places();
}
