// electron-updater's updater of Windows in a process of Node's: an app that ends nothing, and Node's own requests in
// place of Electron's.
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { NsisUpdater } from "electron-updater";

const require = createRequire(import.meta.url);
// An import by name would look at each of its exports, of which one asks for Electron.
const { NsisUpdater: Nsis } = require("electron-updater") as { NsisUpdater: typeof NsisUpdater };
const runtime = createRequire(require.resolve("electron-updater"));

interface CallOptions {
  cancellationToken: {
    createPromise<T>(
      work: (done: (value: T) => void, fail: (error: Error) => void, cancelled: unknown) => void,
    ): Promise<T>;
  };
  headers?: Record<string, string>;
}
type Download = (requestOptions: object, options: object, redirects: number) => void;
const { HttpExecutor, configureRequestOptions, configureRequestUrl } = runtime("builder-util-runtime") as {
  HttpExecutor: new () => { doDownload: Download };
  configureRequestUrl(url: URL, options: object): void;
  configureRequestOptions(options: object): void;
};

class NodeExecutor extends HttpExecutor {
  createRequest(options: RequestOptions, answered: (response: IncomingMessage) => void): ClientRequest {
    return http.request(options, answered);
  }

  /** Downloads as the executor of Electron does. */
  download(url: URL, destination: string, options: CallOptions): Promise<string> {
    return options.cancellationToken.createPromise<string>((done, fail, onCancel) => {
      const request = { headers: options.headers };
      configureRequestUrl(url, request);
      configureRequestOptions(request);
      const callback = (error?: Error | null): void => (error ? fail(error) : done(destination));
      this.doDownload(request, { destination, options, onCancel, callback, responseHandler: null }, 0);
    });
  }
}

/**
 * Makes one for a copy of this version.
 * @param folder a folder of its own, where it keeps what it downloads
 * @param publisher whose certificate a set-up has to carry, where the copy knows one
 */
export function nodeUpdater(version: string, folder: string, publisher?: string): NsisUpdater {
  mkdirSync(folder, { recursive: true });
  const configuration = join(folder, "app-update.yml");
  const names = publisher === undefined ? "" : `publisherName:\n  - ${publisher}\n`;
  writeFileSync(
    configuration,
    `provider: generic\nurl: https://example.org\nupdaterCacheDirName: runnel-updater\n${names}`,
  );
  const updater = new Nsis(null, {
    version,
    name: "Runnel",
    isPackaged: true,
    appUpdateConfigPath: configuration,
    userDataPath: folder,
    baseCachePath: folder,
    whenReady: () => Promise.resolve(),
    relaunch: () => undefined,
    quit: () => undefined,
    onQuit: () => {
      throw new Error("It would be installed when the app ends.");
    },
  });
  const system = { platform: "win32", isUseDifferentialDownload: true };
  return Object.assign(updater, { httpExecutor: new NodeExecutor(), _testOnlyOptions: system });
}
