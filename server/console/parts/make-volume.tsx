// Makes a volume: a folder is chosen below those that the server may offer, and gets a name.
import { Folder, FolderX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Field } from "@runnel/shared/ui/widgets/field.tsx";
import { FormDialog } from "@runnel/shared/ui/widgets/form-dialog.tsx";
import { Empty, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import type { OfferedRow } from "../api.ts";
import { say, useConsole, useServer } from "../console.ts";

const ROW_PIXELS = 34;

export function MakeVolume({ close }: { close(): void }): ReactNode {
  const { calls } = useConsole();
  const [folder, setFolder] = useState("");
  const [typed, setTyped] = useState("");
  const name = typed === "" ? nameOf(folder) : typed;
  return (
    <FormDialog
      title={say("volumeMake")}
      act={say("volumeMake")}
      cancel={say("cancel")}
      isDisabled={folder === "" || name === ""}
      close={close}
      submit={async () => {
        await calls.ask("createVolume", { name, folder });
      }}
    >
      <FolderChooser folder={folder} choose={setFolder} />
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

/** The folder that is looked into is the one that is chosen; "" stands above all that may be offered. */
function FolderChooser({ folder, choose }: { folder: string; choose(folder: string): void }): ReactNode {
  const { result, problem, again } = useServer<{ folders: OfferedRow[]; above: string | null }>("offered", {
    path: folder,
  });
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
            <Button look="plain" onClick={() => choose(result?.above ?? "")}>
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
            <Skeleton height={ROW_PIXELS} />
          </div>
        ) : result.folders.length === 0 ? (
          <Empty
            icon={<FolderX size={24} aria-hidden="true" />}
            title={say(folder === "" ? "offeredNone" : "offeredEmpty")}
          >
            {say(folder === "" ? "offeredNoneHint" : "offeredEmptyHint")}
          </Empty>
        ) : (
          <ul>
            {result.folders.map(({ name, path, volume }) => (
              <li key={path}>
                <button type="button" disabled={volume !== null} onClick={() => choose(path)}>
                  <Folder size={16} aria-hidden="true" />
                  <span className="one-line">{name}</span>
                  {volume !== null && <span className="small quiet">{say("offeredAs", { volume })}</span>}
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

function nameOf(folder: string): string {
  return folder.split(/[/\\]/).findLast((part) => part !== "") ?? "";
}
