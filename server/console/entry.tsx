// Knows who is at the page: nobody yet, somebody at the door, or somebody inside, with the calls.
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Calls } from "@runnel/shared/ui/calls.ts";
import { socketLine } from "@runnel/shared/ui/socket-line.ts";
import type { Me } from "./api.ts";
import { App } from "./app.tsx";
import { ConsoleContext, say } from "./console.ts";
import { forgetSession, hasSignIn, keptSession, setUp, signIn, takeHash } from "./session.ts";
import { Closed, SetUp, SignIn } from "./views/door.tsx";

const setUpToken = await takeHash();
/** Interval in which the server is told that somebody uses the page, so that the session goes on. */
const USED_MS = 60_000;

export function Entry(): ReactNode {
  const [round, setRound] = useState(0);
  const [because, setBecause] = useState("");
  const again = useCallback((why: string) => {
    setBecause(why);
    setRound((before) => before + 1);
  }, []);
  return <Visit key={round} because={because} again={again} />;
}

/** Tries to be inside: it dials, and shows the door when it is refused. */
function Visit({ because, again }: { because: string; again(because: string): void }): ReactNode {
  const [inside, setInside] = useState<{ calls: Calls; me: Me }>();
  const [isOutside, setOutside] = useState(false);
  const isLeaving = useRef(false);
  const me = inside?.me;
  useEffect(() => {
    const calls = new Calls({
      dial: (events) => socketLine(`${location.origin.replace(/^http/, "ws")}/calls`, keptSession(), events),
      version: "page",
      lost: say("callLost"),
    });
    let wasIn = false;
    const stop = calls.listen(() => {
      if (calls.state === "live" && !wasIn) {
        calls.ask<Me>("whoAmI").then(
          (answer) => {
            wasIn = true;
            setInside({ calls, me: answer });
          },
          () => undefined,
        );
      }
      if (calls.state !== "ended") return;
      forgetSession();
      if (wasIn) again(say(isLeaving.current ? "signedOut" : "sessionEnded"));
      else setOutside(true);
    });
    return () => {
      stop();
      calls.close();
    };
  }, [again]);

  useUse(inside?.calls);

  if (inside !== undefined && me !== undefined) {
    const signOut = async (): Promise<void> => {
      isLeaving.current = true;
      // The session ends before its page has the answer: then the line says so.
      await inside.calls.ask("signOut").catch(() => undefined);
    };
    return (
      <ConsoleContext value={{ calls: inside.calls, me, signOut }}>
        <App />
      </ConsoleContext>
    );
  }
  if (!isOutside) return null;
  if (!hasSignIn) return <Closed title={say("localEndedTitle")}>{say("localEnded")}</Closed>;
  const enter = async (act: Promise<void>): Promise<void> => {
    await act;
    again("");
  };
  if (setUpToken !== "" && because === "") {
    return <SetUp enter={(name, password) => enter(setUp(setUpToken, name, password, say("callLost")))} />;
  }
  return <SignIn because={because} enter={(name, password) => enter(signIn(name, password, say("callLost")))} />;
}

/** Tells the server that the page is used, when it is. */
function useUse(calls: Calls | undefined): void {
  useEffect(() => {
    if (calls === undefined) return undefined;
    let toldMs = performance.now();
    const used = (): void => {
      if (performance.now() - toldMs < USED_MS) return;
      toldMs = performance.now();
      calls.ask("whoAmI").catch(() => undefined);
    };
    const events = ["pointerdown", "keydown"] as const;
    for (const event of events) addEventListener(event, used, { passive: true });
    return () => {
      for (const event of events) removeEventListener(event, used);
    };
  }, [calls]);
}
