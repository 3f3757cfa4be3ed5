// The bridge: what the app around a page gives it beside the agent, `window.runnel`, which a browser's page has not.

export interface PageBridge {
  /** The invite that a runnel:// link brought, once; "" when there is none. */
  takeInvite(): Promise<string>;
}
