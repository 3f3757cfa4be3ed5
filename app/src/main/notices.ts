// Which changes of the state are worth a notification: what needs a person, once each, and that it is over when everything is well again. Pure.
import type { Drive, Head } from "../agent-view.ts";

export interface NoticeText {
  title: string;
  body: string;
  /** The view that shows more. */
  route: string;
}

export interface NoticeFacts {
  head: Head;
  drives: readonly Drive[];
}

/** Says what is new between two states; nothing when `before` is not known, since that is no news. */
export function noticesBetween(before: NoticeFacts | undefined, now: NoticeFacts): NoticeText[] {
  if (before === undefined) return [];
  const known = new Map(before.drives.map((drive) => [drive.key, drive]));
  const notices = now.drives.flatMap((drive) => {
    const former = known.get(drive.key);
    if (former === undefined) return [];
    const fresh = drive.problems.filter((problem) => !former.problems.includes(problem));
    return [
      ...(drive.conflicts > former.conflicts ? [conflictNotice(drive)] : []),
      ...fresh.map((problem) => ({ title: `${drive.key} needs you`, body: problem, route: "/" })),
    ];
  });
  if (before.head.state === "attention" && now.head.state === "fine")
    notices.push({ title: "All is well again", body: now.head.sentence, route: "/" });
  return notices;
}

function conflictNotice({ key }: Drive): NoticeText {
  const body = "A file was changed here and elsewhere. Both are kept.";
  return { title: `A conflict in ${key}`, body, route: "/conflicts" };
}
