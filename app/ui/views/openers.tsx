// Openers of a file or folder in a drive: who else has it open, as the server knows it.
import { Users } from "lucide-react";
import type { ReactNode } from "react";
import { formatMoment } from "@runnel/shared/ui/format.ts";
import { useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Dialog } from "@runnel/shared/ui/widgets/form-dialog.tsx";
import type { MenuItem } from "@runnel/shared/ui/widgets/menu.tsx";
import { Failure, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import type { Opener, Openers } from "../../src/agent/mount-status.ts";
import { say, useAgent } from "../agent.ts";
import type { WordId } from "../words/en.ts";

/** Others come and go: what is shown is asked for again so often. */
const AGAIN_MS = 3_000;

export function openersItem(show: () => void): MenuItem {
  return { label: say("rowOpeners"), icon: <Users size={16} aria-hidden="true" />, choose: show };
}

/** Is open as long as it is drawn. `path`: absolute, in a drive. */
export function OpenersDialog({ path, name, close }: { path: string; name: string; close(): void }): ReactNode {
  const { calls } = useAgent();
  const { result, problem, again } = useAnswer<Openers>(calls, "openers", { path }, AGAIN_MS);
  return (
    <Dialog title={say("openersTitle", { name })} close={close}>
      <Failure problem={problem} again={again} act={say("tryAgain")} />
      {problem === "" &&
        (result === undefined ? (
          <Pending>
            <Skeleton height={40} />
          </Pending>
        ) : (
          <OpenersList {...result} />
        ))}
      <footer>
        <Button onClick={close}>{say("openersClose")}</Button>
      </footer>
    </Dialog>
  );
}

function OpenersList({ isFolder, total, openers }: Openers): ReactNode {
  const others = openers.filter(({ isOwn }) => !isOwn);
  const isNobodys = isFolder ? others.length === 0 : !others.some(({ hasRead }) => hasRead);
  return (
    <>
      {isNobodys && <p role="status">{say(isFolder ? "openersNoneFolder" : "openersNone")}</p>}
      {others.length > 0 && (
        <ul className="items" aria-label={say("openersList")}>
          {others.map((opener, at) => (
            // Without TLS several may have one name.
            <li key={`${opener.name} ${at}`} className="event">
              <div>
                <span className="one-line">{opener.name}</span>
                <div className="details small quiet">
                  <span>{say(wordOf(opener))}</span>
                  {opener.sinceMs !== null && (
                    <span>{say("openerSince", { moment: formatMoment(opener.sinceMs) })}</span>
                  )}
                </div>
              </div>
            </li>
          ))}
        </ul>
      )}
      {total > openers.length && <p className="small quiet">{say("openersMore", { count: total - openers.length })}</p>}
    </>
  );
}

function wordOf({ isConnected, hasRead }: Opener): WordId {
  if (!isConnected) return "openerGone";
  return hasRead ? "openerHasIt" : "openerOnDrive";
}
