// A method of somebody else's class, replaced in this process. Private members are as open at run time as public ones:
// `This` says which of them the new method uses.

type Method<This, Args extends unknown[]> = (this: This, ...args: Args) => unknown;

/** `owner`: the class's prototype, or the class for a static method. @throws when there is no such method any more. */
export function replace<This, Args extends unknown[]>(
  owner: object,
  method: string,
  by: (original: Method<This, Args>) => Method<This, Args>,
): void {
  const methods = owner as Record<string, Method<This, Args> | undefined>;
  const original = methods[method];
  if (original === undefined) throw new Error(`${method} is no method any more.`);
  methods[method] = by(original);
}
