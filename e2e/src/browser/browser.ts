// A real browser for tests of pages: Chromium without a window, and what it complains of.
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const PROBE = fileURLToPath(new URL("probe.js", import.meta.url));
/** Names of the program, by systems. */
const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export interface OpenPage {
  page: Page;
  /** Errors that scripts threw, and what the console shows as an error: a page has none. */
  complaints: string[];
}

export class TestBrowser {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** Starts the browser that is installed here. */
  static async start(): Promise<TestBrowser> {
    const failures: unknown[] = [];
    for (const executablePath of PROGRAMS) {
      try {
        // Root, as tests may be, cannot have Chromium's own sandbox.
        return new TestBrowser(await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] }));
      } catch (error) {
        failures.push(error);
      }
    }
    throw new AggregateError(failures, "No browser could be started. Install one: apt-get install chromium");
  }

  /** `prepare`: done before the page is asked for. */
  async open(
    url: string,
    scheme: "light" | "dark" = "light",
    prepare?: (context: BrowserContext) => Promise<void>,
  ): Promise<OpenPage> {
    const context = await this.#browser.newContext({
      colorScheme: scheme,
      viewport: { width: 1000, height: 720 },
      // A person accepts the certificate that the server made itself.
      ignoreHTTPSErrors: true,
    });
    // Can look at the page from within (probe.js).
    await context.addInitScript({ path: PROBE });
    await prepare?.(context);
    return openIn(context, url);
  }

  /** Opens another tab of the browser that a page is in: it shares what was stored there. */
  openBeside(page: Page, url: string): Promise<OpenPage> {
    return openIn(page.context(), url);
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

async function openIn(context: BrowserContext, url: string): Promise<OpenPage> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await page.goto(url);
  return { page, complaints };
}
