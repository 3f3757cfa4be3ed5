// A disk that says how many of its calls are under way, so that simulated time can wait for the real disk.
import type { Disk, DiskFile, DiskRoot } from "@runnel/shared";

/** What stands for a file, and the file: a call may name another file. */
const FILES = new WeakMap<object, object>();

export class CountedDisk implements Disk {
  private readonly disk: Disk;
  underWay = 0;

  constructor(disk: Disk) {
    this.disk = disk;
  }

  async openRoot(path: string, make?: { permissions: number }): Promise<DiskRoot> {
    return this.counted(await this.during(this.disk.openRoot(path, make)));
  }

  private async during<T>(call: Promise<T>): Promise<T> {
    this.underWay++;
    try {
      return await call;
    } finally {
      this.underWay--;
    }
  }

  private counted<T extends DiskRoot | DiskFile>(target: T): T {
    const proxy = new Proxy(target, {
      get: (_target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          const result: unknown = member.apply(
            target,
            args.map((arg) => FILES.get(arg as object) ?? arg),
          );
          if (!(result instanceof Promise)) return result;
          const counted = this.during(result);
          return name === "open" ? counted.then((file: DiskFile) => this.counted(file)) : counted;
        };
      },
    });
    FILES.set(proxy, target);
    return proxy;
  }
}
