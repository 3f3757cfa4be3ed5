// The package has no types of its own.
declare module "proxy-from-env" {
  /**
   * The proxy that the environment names for a URL ("" for none): HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, less NO_PROXY.
   */
  export function getProxyForUrl(url: string): string;
}
