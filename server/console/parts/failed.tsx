// Says that what a view asked for was not answered, and asks again.
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Notice } from "@runnel/shared/ui/widgets/notice.tsx";
import { say } from "../console.ts";

export function Failed({ problem, again }: { problem: string; again(): void }): ReactNode {
  if (problem === "") return null;
  return (
    <Notice
      tone="danger"
      icon={<TriangleAlert size={18} aria-hidden="true" />}
      action={<Button onClick={again}>{say("tryAgain")}</Button>}
    >
      {problem}
    </Notice>
  );
}
