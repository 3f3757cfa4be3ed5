// A register of transfers for tests of those who move bytes.
import type { Clock } from "@runnel/shared";
import { type Transfer, Transfers, type TransfersDeps } from "../../src/agent/view/transfers.ts";

export function makeTransfers(clock: Clock, deps: Partial<TransfersDeps> = {}): Transfers & { ended: Transfer[] } {
  const ended: Transfer[] = [];
  const transfers = new Transfers({
    clock,
    waitingFor: () => new Map(),
    isOnline: () => true,
    pathOf: (node) => `node ${node}`,
    ended: (transfer) => void ended.push(transfer),
    ...deps,
  });
  return Object.assign(transfers, { ended });
}
