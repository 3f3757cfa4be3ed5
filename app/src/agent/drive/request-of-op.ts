// Requests of the drive by their kind.
import type { DriveRequest } from "@runnel/native/drive";

export type RequestOfOp<Op extends DriveRequest["op"]> = Extract<DriveRequest, { op: Op }>;
