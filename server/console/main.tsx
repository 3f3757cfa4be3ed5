// Begins the console.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@runnel/shared/ui/tokens.css";
import "@runnel/shared/ui/base.css";
import "@runnel/shared/ui/widgets/widgets.css";
import "@runnel/shared/ui/widgets/tables.css";
import { TipProvider } from "@runnel/shared/ui/widgets/tip.tsx";
import "./console.css";
import { Entry } from "./entry.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root.");
createRoot(root).render(
  <StrictMode>
    <TipProvider>
      <Entry />
    </TipProvider>
  </StrictMode>,
);
