// People who may sign in to the console, and own devices: each with a role, and mostly with a password.
import type { Clock, DiskRoot } from "@runnel/shared";
import { RunnelError, wallMs } from "@runnel/shared";
import { Passwords } from "./passwords.ts";
import { type Person, type Role, readPeople, writePeople } from "./people-file.ts";

export const PEOPLE_MAX = 1000;

/** Changes of a person; `password`: null takes it away. */
export interface PersonChange {
  role?: Role | undefined;
  password?: string | null | undefined;
}

export class People {
  readonly #root: DiskRoot;
  readonly #clock: Clock;
  readonly #passwords: Passwords;
  #people: readonly Person[];
  #saving: Promise<void> = Promise.resolve();

  private constructor(root: DiskRoot, clock: Clock, people: readonly Person[], passwords: Passwords) {
    this.#root = root;
    this.#clock = clock;
    this.#people = people;
    this.#passwords = passwords;
  }

  /** `root`: the server's own folder; the caller closes it. @throws RunnelError Version, Corrupt. */
  static async open(root: DiskRoot, clock: Clock, passwords = new Passwords()): Promise<People> {
    return new People(root, clock, await readPeople(root), passwords);
  }

  /** Lists them in the order in which they came. */
  list(): readonly Person[] {
    return this.#people;
  }

  find(name: string): Person | undefined {
    return this.#people.find((person) => person.name === name);
  }

  /** Somebody can sign in who may do everything: the console was set up. */
  get hasAdmin(): boolean {
    return this.#people.some(isAbleAdmin);
  }

  /** Returns who has the name and the password; undefined when nobody does. @throws RunnelError Busy. */
  async verify(name: string, password: string): Promise<Person | undefined> {
    const before = this.find(name)?.password;
    const isRight = await this.#passwords.isRight(password, before);
    const person = this.find(name);
    // It may have been given another password meanwhile.
    return isRight && person?.password === before ? person : undefined;
  }

  /** Durable when it resolves. @throws RunnelError Exists; TooLarge; Busy. */
  async add(name: string, role: Role, password?: string): Promise<Person> {
    const stored = password === undefined ? {} : { password: await this.#passwords.store(password) };
    if (this.find(name) !== undefined)
      throw new RunnelError("Exists", "people", `There is somebody called ${name} already. Choose another name.`);
    if (this.#people.length >= PEOPLE_MAX)
      throw new RunnelError("TooLarge", "people", `The server keeps no more than ${PEOPLE_MAX} people.`);
    const person: Person = { name, role, createdMs: wallMs(this.#clock), ...stored };
    await this.#save([...this.#people, person]);
    return person;
  }

  /**
   * Makes the first admin; of several that come at once one is first. Durable when it resolves. @throws RunnelError
   * Denied when there is one.
   */
  async setUp(name: string, password: string): Promise<Person> {
    const stored = await this.#passwords.store(password);
    if (this.hasAdmin) throw new RunnelError("Denied", "set up", "The console is set up already. Sign in.");
    const before = this.find(name);
    const person: Person = {
      name,
      role: "admin",
      createdMs: before?.createdMs ?? wallMs(this.#clock),
      password: stored,
    };
    await this.#save([...this.#people.filter((each) => each !== before), person]);
    return person;
  }

  /** Durable when it resolves. @throws RunnelError NotFound; Invalid when no admin would be left; Busy. */
  async change(name: string, { role, password }: PersonChange): Promise<Person> {
    const stored = typeof password === "string" ? await this.#passwords.store(password) : password;
    const { password: before, ...rest } = this.mustFind(name);
    const kept = stored === undefined ? before : (stored ?? undefined);
    const person: Person = { ...rest, role: role ?? rest.role, ...(kept === undefined ? {} : { password: kept }) };
    await this.#replace(name, person);
    return person;
  }

  /** Durable when it resolves. @throws RunnelError NotFound; Invalid when no admin would be left. */
  async remove(name: string): Promise<Person> {
    const person = this.mustFind(name);
    await this.#replace(name, undefined);
    return person;
  }

  /** @throws RunnelError NotFound. */
  mustFind(name: string): Person {
    const person = this.find(name);
    if (person !== undefined) return person;
    throw new RunnelError("NotFound", "people", `There is nobody called ${name} here.`);
  }

  #replace(name: string, person: Person | undefined): Promise<void> {
    const next = this.#people.flatMap((each) => (each.name !== name ? [each] : person === undefined ? [] : [person]));
    if (this.hasAdmin && !next.some(isAbleAdmin))
      throw new RunnelError(
        "Invalid",
        "people",
        `${name} is the only admin with a password. Make somebody else one first.`,
      );
    return this.#save(next);
  }

  /** Changes what holds at once; the file follows, one state after another. */
  #save(next: readonly Person[]): Promise<void> {
    this.#people = next;
    const write = (): Promise<void> => writePeople(this.#root, this.#people);
    const saved = this.#saving.then(write, write);
    this.#saving = saved;
    return saved;
  }
}

function isAbleAdmin({ role, password }: Person): boolean {
  return role === "admin" && password !== undefined;
}
