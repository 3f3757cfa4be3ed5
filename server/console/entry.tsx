// Knows who is at the page: nobody yet, somebody at the door, or somebody inside, with the calls.
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { Calls } from "@runnel/shared/ui/calls.ts";
import { socketLine } from "@runnel/shared/ui/socket-line.ts";
import type { Me } from "./api.ts";
import { App } from "./app.tsx";
import { ConsoleContext, say } from "./console.ts";
import { askDoor, type DoorState, forgetSession, keptSession, setUp, signIn, takeSetUpSecret } from "./session.ts";
import { Closed, SetUp, SignIn } from "./views/door.tsx";

const setUpSecret = takeSetUpSecret();

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
  const [door, setDoor] = useState<DoorState>();
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
        calls.ask<Me>("me").then(
          (answer) => {
            wasIn = true;
            setInside({ calls, me: answer });
          },
          () => undefined,
        );
      }
      if (calls.state !== "ended") return;
      forgetSession();
      if (wasIn) again(say("sessionEnded"));
      else void askDoor().then(setDoor, () => undefined);
    });
    return () => {
      stop();
      calls.close();
    };
  }, [again]);

  if (inside !== undefined && me !== undefined) {
    const signOut = async (): Promise<void> => {
      await inside.calls.ask("signOut");
      forgetSession();
      again(say("signedOut"));
    };
    return (
      <ConsoleContext value={{ calls: inside.calls, me, signOut }}>
        <App />
      </ConsoleContext>
    );
  }
  if (door === undefined) return null;
  const enter = async (act: Promise<void>): Promise<void> => {
    await act;
    again("");
  };
  if (door.isSetUp) {
    return (
      <SignIn
        server={door.server}
        because={because}
        enter={(name, password) => enter(signIn(name, password, say("callLost")))}
      />
    );
  }
  if (setUpSecret === "") return <Closed title={say("setUpElsewhereTitle")}>{say("setUpElsewhere")}</Closed>;
  return (
    <SetUp
      server={door.server}
      enter={(name, password) => enter(setUp(setUpSecret, name, password, say("callLost")))}
    />
  );
}
