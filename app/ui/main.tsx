// Begins the page: takes the session that the agent gave it, dials the agent, draws.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import type { Head } from "../src/agent/view/head.ts";
import { Calls } from "@runnel/shared/ui/calls.ts";
import "@runnel/shared/ui/tokens.css";
import "@runnel/shared/ui/base.css";
import "@runnel/shared/ui/widgets/widgets.css";
import { socketLine } from "@runnel/shared/ui/socket-line.ts";
import { ViewStore } from "@runnel/shared/ui/view-store.ts";
import { TipProvider } from "@runnel/shared/ui/widgets/tip.tsx";
import { AGENT_LISTS, AgentContext, type AgentLists, say } from "./agent.ts";
import { App } from "./app.tsx";
import "./app.css";
import { enter } from "./session.ts";

/** An agent that is started anew has another port: what does not listen any more for some seconds is gone. */
const DIALS_MAX = 3;

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root.");
const session = await enter();
const calls = new Calls({
  dial: (events) => socketLine(`${location.origin.replace(/^http/, "ws")}/calls`, session, events),
  version: "page",
  lost: say("callLost"),
  dialsMax: DIALS_MAX,
});
const store = new ViewStore<Head, AgentLists>(calls, "view", { wants: AGENT_LISTS });
createRoot(root).render(
  <StrictMode>
    <AgentContext value={{ calls, store }}>
      <TipProvider>
        <App />
      </TipProvider>
    </AgentContext>
  </StrictMode>,
);
