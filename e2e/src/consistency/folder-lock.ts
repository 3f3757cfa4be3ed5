// The lock of a folder's names in a kernel: lookups and listings share it, whatever changes a name has it alone. Fair,
// as the kernel's is: who comes after one that waits to have it alone waits too.

interface Waiting {
  isAlone: boolean;
  begin: () => void;
}

export class FolderLock {
  private sharers = 0;
  private isTaken = false;
  private readonly waiting: Waiting[] = [];

  async with<T>(isAlone: boolean, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((begin) => {
      this.waiting.push({ isAlone, begin });
      this.next();
    });
    try {
      return await work();
    } finally {
      if (isAlone) this.isTaken = false;
      else this.sharers -= 1;
      this.next();
    }
  }

  private next(): void {
    for (let [first] = this.waiting; first !== undefined; [first] = this.waiting) {
      if (this.isTaken || (first.isAlone && this.sharers > 0)) return;
      this.waiting.shift();
      if (first.isAlone) this.isTaken = true;
      else this.sharers += 1;
      first.begin();
    }
  }
}
