// Makes a volume: a folder is chosen below those that the server may offer, and gets a name.
import { ArrowUp, Folder, FolderX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Field } from "@runnel/shared/ui/widgets/field.tsx";
import { FormDialog } from "@runnel/shared/ui/widgets/form-dialog.tsx";
import { Empty, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { Cell, Rows } from "@runnel/shared/ui/widgets/rows.tsx";
import type { OfferedRow } from "../../src/live/rows.ts";
import { say, useConsole, useServerRows } from "../console.ts";

const ROW_PIXELS = 34;
/** A folder below the one that is offered; that one itself is no volume. */
const DEPTH_MIN = 2;

export function MakeVolume({ close }: { close(): void }): ReactNode {
  const { calls } = useConsole();
  const [trail, setTrail] = useState<readonly string[]>([]);
  const folder = trail.at(-1) ?? "";
  const [typed, setTyped] = useState("");
  const name = typed === "" ? nameOf(folder) : typed;
  return (
    <FormDialog
      title={say("volumeMake")}
      act={say("volumeMake")}
      cancel={say("cancel")}
      isDisabled={trail.length < DEPTH_MIN || name === ""}
      close={close}
      submit={async () => {
        await calls.ask("createVolume", { name, folder });
      }}
    >
      <FolderChooser trail={trail} choose={setTrail} />
      <Field
        label={say("volumeName")}
        hint={say("volumeNameHint")}
        autoComplete="off"
        maxLength={64}
        value={name}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </FormDialog>
  );
}

interface FolderChooserProps {
  /** Folders on the way to the one that is looked into, which is the one that is chosen. */
  trail: readonly string[];
  choose(trail: readonly string[]): void;
}

function FolderChooser({ trail, choose }: FolderChooserProps): ReactNode {
  const folder = trail.at(-1) ?? "";
  const { result, problem, again } = useServerRows<OfferedRow>("offered", "folders", { path: folder });
  return (
    <div className="field">
      <span id="chooser" className="label">
        {say("volumeFolder")}
      </span>
      <div className="crumbs">
        {folder === "" ? (
          <span className="quiet">{say("volumeFolderHint")}</span>
        ) : (
          <>
            <Button
              look="plain"
              icon={<ArrowUp size={16} aria-hidden="true" />}
              onClick={() => choose(trail.slice(0, -1))}
            >
              {say("folderUp")}
            </Button>
            <code>{folder}</code>
          </>
        )}
      </div>
      <div className="chooser" role="group" aria-labelledby="chooser">
        {problem !== "" ? (
          <div className="pad">
            <p role="alert" className="error">
              {problem}
            </p>
            <Button onClick={again}>{say("tryAgain")}</Button>
          </div>
        ) : result === undefined ? (
          <div className="pad">
            <Pending>
              <Skeleton height={ROW_PIXELS} />
            </Pending>
          </div>
        ) : result.rows.length === 0 ? (
          <Empty
            icon={<FolderX size={24} aria-hidden="true" />}
            title={say(folder === "" ? "offeredNone" : "offeredEmpty")}
          >
            {say(folder === "" ? "offeredNoneHint" : "offeredEmptyHint")}
          </Empty>
        ) : (
          <Rows
            key={folder}
            label={say("volumeFolder")}
            total={result.rows.length}
            height={ROW_PIXELS}
            onRange={allAreHere}
          >
            {(index) => <Offered row={result.rows[index]} choose={(path) => choose([...trail, path])} />}
          </Rows>
        )}
      </div>
      {result?.isWhole === false && <p className="small quiet">{say("listCut", { count: result.rows.length })}</p>}
    </div>
  );
}

/** Rows are asked for with the folder, not as they are seen. */
function allAreHere(): void {}

function Offered({ row, choose }: { row: OfferedRow | undefined; choose(path: string): void }): ReactNode {
  if (row === undefined) return null;
  const { name, path, volume } = row;
  return (
    <Cell>
      <button type="button" onClick={() => choose(path)}>
        <Folder size={16} aria-hidden="true" />
        <span className="one-line">{name}</span>
        {volume !== null && <span className="small quiet">{say("offeredAs", { volume })}</span>}
      </button>
    </Cell>
  );
}

function nameOf(folder: string): string {
  return folder.split(/[/\\]/).findLast((part) => part !== "") ?? "";
}
