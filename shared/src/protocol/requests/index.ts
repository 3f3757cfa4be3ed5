// All requests that a client may ask, by name.
import type { z } from "zod";
import { check } from "../fields.ts";
import { ATTACHMENT_REQUESTS } from "./attachment.ts";
import { CHANGE_REQUESTS } from "./change.ts";
import { COLLEAGUES_REQUESTS } from "./colleagues.ts";
import { HANDSHAKE_REQUESTS } from "./handshake.ts";
import { READ_REQUESTS } from "./read.ts";
import { TREE_REQUESTS } from "./tree.ts";
import { VOLUME_REQUESTS } from "./volume.ts";
import { WRITE_REQUEST } from "./write.ts";

export const REQUESTS = {
  ...HANDSHAKE_REQUESTS,
  ...ATTACHMENT_REQUESTS,
  ...TREE_REQUESTS,
  ...VOLUME_REQUESTS,
  ...READ_REQUESTS,
  ...CHANGE_REQUESTS,
  ...WRITE_REQUEST,
  ...COLLEAGUES_REQUESTS,
};

type Requests = typeof REQUESTS;
export type RequestName = keyof Requests;
/** A request as its handler gets it, checked. */
export type RequestOf<Name extends RequestName> = z.output<Requests[Name]["request"]>;
/** Result of a request as the client gets it, checked. */
export type ResultOf<Name extends RequestName> = z.output<Requests[Name]["result"]>;
/** Result of a request as the server sends it. */
export type SentResultOf<Name extends RequestName> = z.input<Requests[Name]["result"]>;

/** Requests on the volume of an attachment, all but those that come before there is one. */
export type VolumeRequestName = {
  [Name in RequestName]: Requests[Name]["right"] extends "none" ? never : Name;
}[RequestName];

export function isRequestName(name: string): name is RequestName {
  return Object.hasOwn(REQUESTS, name);
}

export function isVolumeRequest(name: RequestName): name is VolumeRequestName {
  return REQUESTS[name].right !== "none";
}

export const VOLUME_REQUEST_NAMES: readonly VolumeRequestName[] = Object.keys(REQUESTS)
  .filter(isRequestName)
  .filter(isVolumeRequest);

/** Says whether bulk of that side comes with requests of the name (W8). */
export function hasBulkFrom(side: "client" | "server", name: string): boolean {
  return isRequestName(name) && REQUESTS[name].bulkFrom === side;
}

/** @throws RunnelError Invalid naming what is wrong. */
export function checkRequest<Name extends RequestName>(name: Name, message: unknown): RequestOf<Name> {
  return check(REQUESTS[name].request, message, name) as RequestOf<Name>;
}

/** @throws RunnelError Invalid naming what is wrong. */
export function checkResult<Name extends RequestName>(name: Name, message: unknown): ResultOf<Name> {
  return check(REQUESTS[name].result, message, `${name} result`) as ResultOf<Name>;
}
