// Addresses of host names while the system answers, hangs and fails.
import { expect, test } from "@jest/globals";
import { HostLookup } from "../../../src/host/dial/host-lookup.ts";

const HERE = [{ address: "192.0.2.1", family: 4 }];
const THERE = [{ address: "192.0.2.2", family: 4 }];

/** A system whose answers the test gives. */
class Resolver {
  readonly asked: PromiseWithResolvers<typeof HERE>[] = [];
  readonly hosts = new HostLookup(() => {
    const answer = Promise.withResolvers<typeof HERE>();
    this.asked.push(answer);
    return answer.promise;
  });
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

test("a name that is being looked up is not asked for again", async () => {
  const { asked, hosts } = new Resolver();
  const all = [hosts.addresses("a"), hosts.addresses("a"), hosts.addresses("a")];
  expect(asked).toHaveLength(1);
  asked[0]?.resolve(HERE);
  expect(await Promise.all(all)).toEqual([HERE, HERE, HERE]);
  const again = hosts.addresses("a");
  asked[1]?.resolve(THERE);
  expect(await again).toEqual(THERE);
});

test("while nothing answers, or nothing can, the addresses serve that it had; a name that is gone has none", async () => {
  const { asked, hosts } = new Resolver();
  const first = hosts.addresses("a");
  asked[0]?.resolve(HERE);
  await first;
  expect(await hosts.addresses("a")).toEqual(HERE);
  expect(await hosts.addresses("a")).toEqual(HERE);
  expect(asked).toHaveLength(2);
  asked[1]?.reject(failure("EAI_AGAIN"));
  await new Promise((resolve) => setImmediate(resolve));
  const unanswered = hosts.addresses("a");
  asked[2]?.reject(failure("EAI_AGAIN"));
  expect(await unanswered).toEqual(HERE);
  const gone = hosts.addresses("a");
  asked[3]?.reject(failure("ENOTFOUND"));
  await expect(gone).rejects.toMatchObject({ code: "ENOTFOUND" });
  const unknown = hosts.addresses("b");
  asked[4]?.reject(failure("EAI_AGAIN"));
  await expect(unknown).rejects.toMatchObject({ code: "EAI_AGAIN" });
});
