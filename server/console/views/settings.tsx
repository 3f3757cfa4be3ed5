// Settings: how the server runs.
import type { ReactNode } from "react";
import { Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { say, useServer } from "../console.ts";
import { Failed } from "../parts/failed.tsx";
import { PageHead } from "../parts/page-head.tsx";

const ROW_PIXELS = 20;

/** Settings as the server names them: a title and what is set. */
interface Settings {
  settings: { name: string; value: string }[];
}

export function SettingsView(): ReactNode {
  const { result, problem, again } = useServer<Settings>("settings");
  return (
    <>
      <PageHead title={say("navSettings")}>{say("settingsHint")}</PageHead>
      <Failed problem={problem} again={again} />
      <section className="card">
        <header>
          <h2>{say("settingsServer")}</h2>
        </header>
        <div className="pad">
          {result === undefined ? (
            <Skeleton height={ROW_PIXELS * 5} />
          ) : (
            <dl className="pairs">
              {result.settings.map(({ name, value }) => (
                <div key={name} style={{ display: "contents" }}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          )}
        </div>
      </section>
    </>
  );
}
