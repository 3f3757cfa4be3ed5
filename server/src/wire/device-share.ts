// Resources that the connections of a device share: their turns to be heard, and the places in which their answers are
// made, contents are sent to them and their data is taken in.
import { Semaphore } from "../host/semaphore.ts";
import { ANSWERS_AT_ONCE } from "./answer-turns.ts";
import { DeviceTurns } from "./device-turns.ts";
import { FailedOperations } from "./operation-order.ts";
import { SharedBudget } from "./shared-budget.ts";

const MiB = 1024 * 1024;

/** Runs of writes that are unfolded, cut and stored at a time: a few mebibytes each. */
const RUNS_AT_ONCE = 4;
/** Listings: each knows the folders that it has still to come to. */
const FINDS_AT_ONCE = [32, 8] as const;
/** Each has a file open. */
const FETCHES_AT_ONCE = [64, 4] as const;
/** Each has files of some mebibytes in memory. */
const FIND_GETS_AT_ONCE = 4;
/**
 * Bytes of contents that were read and not yet given to a line: of what is waited for, and of what goes when nothing
 * else does.
 */
const ASKED_BYTES = 4 * MiB;
const BACKGROUND_BYTES = 2 * MiB;

/** Most connections never need most of them: those are made when they are wanted. */
export class DevicePlaces {
  readonly answers = new Semaphore(ANSWERS_AT_ONCE);
  readonly runs = new Semaphore(RUNS_AT_ONCE);
  readonly failures = new FailedOperations();
  #finds: SharedBudget | undefined;
  #fetches: SharedBudget | undefined;
  #findGets: SharedBudget | undefined;
  #askedBytes: SharedBudget | undefined;
  #backgroundBytes: SharedBudget | undefined;

  get finds(): SharedBudget {
    return (this.#finds ??= new SharedBudget(...FINDS_AT_ONCE));
  }

  get fetches(): SharedBudget {
    return (this.#fetches ??= new SharedBudget(...FETCHES_AT_ONCE));
  }

  get findGets(): SharedBudget {
    return (this.#findGets ??= new SharedBudget(FIND_GETS_AT_ONCE));
  }

  get askedBytes(): SharedBudget {
    return (this.#askedBytes ??= new SharedBudget(ASKED_BYTES));
  }

  get backgroundBytes(): SharedBudget {
    return (this.#backgroundBytes ??= new SharedBudget(BACKGROUND_BYTES));
  }
}

export class DeviceShare {
  readonly turns = new DeviceTurns();
  readonly places = new DevicePlaces();
}

/** Means of a connection to send what is long. */
export interface Sending {
  connection: object;
  places: DevicePlaces;
  /** Resolves when most of what was said before has been sent. */
  drained(): Promise<void>;
  /**
   * Makes the answer, one of a few at a time, once what was said before has been read. Does nothing where nobody hears
   * it any more.
   */
  inTurn(answer: () => Promise<void>): Promise<void>;
}
