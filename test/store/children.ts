/** The part of the store's contract about runs that were started by runs. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_TERMS } from '../../src/lifecycle/child.ts';
import type { ChildTerms } from '../../src/lifecycle/child.ts';
import type { ClaimRequest, Store } from '../../src/store/store.ts';
import type { Database, Engine } from './engine.ts';
import { claimOf, end, intend, start, TOKEN, won } from './examples.ts';

let database: Database;
let one: Store;
let two: Store;

export function describeStoreChildren(engine: Engine): void {
  describe(`children on ${engine.name}`, () => {
    beforeEach(async () => {
      database = await engine.createDatabase();
      [one, two] = [await database.open(), await database.open()];
    });
    afterEach(() => database.close());

    describe('the claim of one', describeClaim);
    describe('the end of their parent', describeEnd);
    describe('a successor of their parent', describeAdoption);

    test('are found by who started them, of whatever session, and no other’s', async () => {
      const parent = await won(one, claimOf('parent'));
      const child = await won(one, childOf(parent.run.id, 'child'));
      await one.step(child.run.id, end());
      const again = await won(one, childOf(parent.run.id, 'child'));
      await won(one, claimOf('other'));
      const grandchild = await won(one, childOf(again.run.id, 'grandchild'));
      // Those of one millisecond come in any order.
      const names = (found: Awaited<ReturnType<Store['startedBy']>>) =>
        found.map(({ run }) => run.id).toSorted();
      expect(names(await two.startedBy([parent.run.id, 'r-nobody']))).toStrictEqual(
        [child.run.id, again.run.id].toSorted(),
      );
      expect(await two.startedBy([])).toStrictEqual([]);
      expect(names(await two.below([parent.run.id], 'all'))).toStrictEqual(
        [child.run.id, again.run.id, grandchild.run.id].toSorted(),
      );
      await one.step(grandchild.run.id, end());
      expect(names(await two.below([parent.run.id], 'live'))).toStrictEqual([again.run.id]);
      expect(await two.below([], 'all')).toStrictEqual([]);
      expect(await two.ancestorsOf(grandchild.run.id)).toStrictEqual([again.run.id, parent.run.id]);
      expect(await two.ancestorsOf(parent.run.id)).toStrictEqual([]);
    });

    test('below one that is over are found all the same', async () => {
      const parent = await won(one, claimOf('parent'));
      const child = await won(one, childOf(parent.run.id, 'child'));
      const grandchild = await won(one, childOf(child.run.id, 'grandchild', { onParentEnd: 'detach' }));
      await one.step(grandchild.run.id, { kind: 'detach', ownerId: child.run.id });
      await one.step(child.run.id, end());
      expect((await two.below([parent.run.id], 'live')).map(({ run }) => run.id)).toStrictEqual([
        grandchild.run.id,
      ]);
    });
  });
}

function describeClaim(): void {
  test('puts its parent and its terms on record', async () => {
    const parent = await won(one, claimOf('parent'));
    const terms: ChildTerms = { onParentEnd: 'adopt', adoptWithinMs: 5, subject: 'pr-1', revision: 'abc' };
    const child = await won(one, childOf(parent.run.id, 'child', terms));
    const parentage = { ...terms, startedBy: parent.run.id, ownerId: parent.run.id, waitsUntilMs: null };
    expect(child.run.parent).toStrictEqual(parentage);
    expect((await two.run(child.run.id))?.parent).toStrictEqual(parentage);
    expect((await two.eventsOf(child.session.id))[0]?.data['parent']).toStrictEqual(parentage);
  });

  test.each([
    ['has a token that is not its parent’s', async () => 'the token is not its own', 'x'],
    [
      'is inside a run that is over',
      async (id: string) => (await one.step(id, end())) && 'it has ended (completed)',
      TOKEN,
    ],
    [
      'is inside a run that is being ended',
      async (id: string) => (await one.step(id, intend())) && 'it is being ended (stopped)',
      TOKEN,
    ],
  ])('is refused, and leaves nothing, when it %s', async (_, prepare, token) => {
    const parent = await won(one, claimOf('parent'));
    const why = await prepare(parent.run.id);
    const result = await two.claim(childOf(parent.run.id, 'child', {}, token));
    expect(result).toMatchObject({ won: false, because: 'parent_over', why, run: { id: parent.run.id } });
    expect(await one.sessionByName('child')).toBeNull();
  });

  test('beside the end of its parent: either it is refused, or the parent waits for it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const parent = await won(one, claimOf(`parent-${round}`));
      const [claimed, ended] = await Promise.all([
        two.claim(childOf(parent.run.id, `child-${round}`)),
        one.step(parent.run.id, end()),
      ]);
      expect(claimed.won).toBe(!ended.taken);
    }
  });
}

function describeEnd(): void {
  test.each(['cancel', 'adopt', 'detach'] as const)(
    'waits for a child with policy %s',
    async (onParentEnd) => {
      const parent = await won(one, claimOf('parent'));
      const child = await won(one, childOf(parent.run.id, 'child', { onParentEnd }));
      expect((await two.undealtChildren(parent.run.id)).map(({ run }) => run.id)).toStrictEqual([
        child.run.id,
      ]);
      expect(await two.step(parent.run.id, end())).toStrictEqual({ taken: false, because: 'has_children' });
      expect(await two.run(parent.run.id)).toStrictEqual(parent.run);

      const ownerId = parent.run.id;
      if (onParentEnd === 'cancel') await two.step(child.run.id, end({ outcome: 'cancelled' }));
      if (onParentEnd === 'detach') await two.step(child.run.id, { kind: 'detach', ownerId });
      if (onParentEnd === 'adopt')
        await two.step(child.run.id, { kind: 'await', ownerId, withinMs: 1000, atMs: 0 });
      expect(await two.undealtChildren(parent.run.id)).toStrictEqual([]);
      expect(await one.step(parent.run.id, end())).toMatchObject({ taken: true });
    },
  );

  test('does not wait for what its children started', async () => {
    const parent = await won(one, claimOf('parent'));
    const child = await won(one, childOf(parent.run.id, 'child', { onParentEnd: 'detach' }));
    await won(one, childOf(child.run.id, 'grandchild'));
    await one.step(child.run.id, { kind: 'detach', ownerId: parent.run.id });
    expect(await two.step(parent.run.id, end())).toMatchObject({ taken: true });
  });
}

function describeAdoption(): void {
  const waiting = async (withinMs: number) => {
    const parent = await won(one, claimOf('parent'));
    const child = await won(one, childOf(parent.run.id, 'child', { onParentEnd: 'adopt' }));
    await one.step(child.run.id, start);
    await one.step(child.run.id, { kind: 'await', ownerId: parent.run.id, withinMs, atMs: 0 });
    await one.step(parent.run.id, end());
    return { parent, child };
  };

  test('takes over those that wait for one, with who did on record', async () => {
    const { parent, child } = await waiting(60_000);
    expect(await two.overdueChildren()).toStrictEqual([]);
    const successor = await won(two, claimOf('parent'));
    expect((await one.run(child.run.id))?.parent).toMatchObject({
      startedBy: parent.run.id,
      ownerId: successor.run.id,
      waitsUntilMs: null,
    });
    expect((await one.eventsOf(child.session.id)).at(-1)).toMatchObject({
      kind: 'child.adopted',
      actor: `run ${successor.run.id}`,
      data: { owner: successor.run.id, before: parent.run.id },
    });
    expect(await one.step(successor.run.id, end())).toStrictEqual({ taken: false, because: 'has_children' });
  });

  test('that comes too late finds nobody: they are overdue', async () => {
    const { child } = await waiting(-1);
    const successor = await won(two, claimOf('parent'));
    expect((await two.overdueChildren()).map(({ run }) => run.id)).toStrictEqual([child.run.id]);
    expect(await one.undealtChildren(successor.run.id)).toStrictEqual([]);
  });

  test('of another session adopts none of them', async () => {
    const { parent, child } = await waiting(60_000);
    const other = await won(two, claimOf('other'));
    await two.step(other.run.id, end());
    await won(two, claimOf('other'));
    expect((await one.run(child.run.id))?.parent?.ownerId).toBe(parent.run.id);
  });
}

function childOf(
  parentId: string,
  name: string,
  terms: Partial<ChildTerms> = {},
  token = TOKEN,
): ClaimRequest {
  return claimOf(name, { parent: { ...DEFAULT_TERMS, ...terms, runId: parentId, token } });
}
