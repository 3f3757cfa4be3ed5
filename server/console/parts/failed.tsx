// Says that what a view asked for was not answered, and asks again.
import type { ReactNode } from "react";
import { Failure } from "@runnel/shared/ui/widgets/notice.tsx";
import { say } from "../console.ts";

export function Failed(props: { problem: string; again(): void }): ReactNode {
  return <Failure {...props} act={say("tryAgain")} />;
}
