// A map of the entries that were set last: one beyond the most drops the one that was set longest ago.

export class RecentMap<Key, Value> extends Map<Key, Value> {
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    super();
    this.#sizeMax = sizeMax;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    const [oldest] = this.keys();
    if (this.size > this.#sizeMax && oldest !== undefined) this.delete(oldest);
    return this;
  }
}
