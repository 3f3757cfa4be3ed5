// Settings: how the server runs.
import type { ReactNode } from "react";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import type { ServerSettings } from "../api.ts";
import { say, useServer } from "../console.ts";
import { Failed } from "../parts/failed.tsx";
import { PageHead } from "../parts/page-head.tsx";

const ROW_PIXELS = 28;
const ROWS = 8;

export function SettingsView(): ReactNode {
  const { result, problem, again } = useServer<ServerSettings>("settings");
  return (
    <>
      <PageHead title={say("navSettings")}>{say("settingsHint")}</PageHead>
      <Failed problem={problem} again={again} />
      {/* Takes the focus, so that keys scroll a view that has no control. */}
      <section className="card" aria-label={say("settingsServer")} tabIndex={0}>
        <header>
          <h2>{say("settingsServer")}</h2>
        </header>
        {result === undefined ? (
          <Pending isFailed={problem !== ""}>
            <Skeleton height={ROW_PIXELS * ROWS} />
          </Pending>
        ) : (
          <Pairs settings={result} />
        )}
      </section>
    </>
  );
}

function Pairs({ settings }: { settings: ServerSettings }): ReactNode {
  const { name, version, listen, url, addresses, fingerprint, dataFolder, startedMs } = settings;
  return (
    <dl className="pairs pad">
      <dt>{say("settingName")}</dt>
      <dd>{name}</dd>
      <dt>{say("settingVersion")}</dt>
      <dd>{version}</dd>
      <dt>{say("settingStarted")}</dt>
      <dd>
        <Moment atMs={startedMs} />
      </dd>
      <dt>{say("settingListen")}</dt>
      <dd>{listen}</dd>
      <dt>{say("settingUrl")}</dt>
      <dd>{url}</dd>
      <dt>{say("settingAddresses")}</dt>
      <dd>{addresses.join(", ")}</dd>
      <dt>{say("settingFingerprint")}</dt>
      <dd>{fingerprint === null ? say("settingFingerprintNone") : <code>{fingerprint}</code>}</dd>
      <dt>{say("settingDataFolder")}</dt>
      <dd>
        <code>{dataFolder}</code>
      </dd>
    </dl>
  );
}
