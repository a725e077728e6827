/**
 * The order of the log on PostgreSQL, where writers commit side by side: a number that was drawn earlier may become
 * visible later. No writer waits for another one because of it (docs/adr/0008-writers-do-not-wait-for-the-log.md):
 *
 *   writer    before its first number: reads the last number drawn, b, and takes a shared lock that carries b.
 *             Its own numbers are higher than b. The lock ends with the transaction, after its rows became visible.
 *   reader    reads the last number drawn, h; then the lowest b of all such locks. Up to the lower of the two every
 *             number is settled: its row is visible to the next statement, or never will be.
 *
 * Whoever drew a number up to h took its lock before that; so it is either found among the locks, or was over before
 * the reader looked. (A sequence that was never drawn from says 1 all the same. That is harmless: a reader's place is
 * the number of an event that it has seen.)
 */

/** Before the order was kept in this way, each writer held this lock alone. Shared, it keeps order with those. */
const EARLIER_ORDER_LOCK = 7_233_392;

export interface EventOrder {
  /**
   * Takes the writer's locks; its one value is the op. By a lock of the op, whoever repeats a unit of work after its
   * connection broke waits until the outcome of the first attempt can be seen.
   */
  readonly announce: string;
  /**
   * An expression: up to which number every event is settled. Null on a standby, which does not know the locks of its
   * primary.
   */
  readonly settled: string;
}

export function eventOrderIn(schema: string): EventOrder {
  const sequence = `${schema}.events_seq_seq`;
  // The sequence itself is named by the first half of a lock's key, so that two stores never meet. The second half has
  // room for the low 32 bits of b; the difference to h tells the rest, for nobody writes for two billion events.
  return {
    announce: `select pg_advisory_xact_lock(hashtextextended(?, 0)),
        pg_advisory_xact_lock_shared(${EARLIER_ORDER_LOCK}),
        pg_advisory_xact_lock_shared('${sequence}'::regclass::oid::integer, numbers.last_value::bit(32)::integer)
      from ${sequence} as numbers`,
    // The locks are looked at for a row of the sequence, and so after that was read.
    settled: `select case when pg_is_in_recovery() then null else numbers.last_value + least(0, (
        select min((locks.objid::bigint - numbers.last_value)::bit(32)::integer) from pg_locks as locks
        where locks.locktype = 'advisory' and locks.objsubid = 2
          and locks.classid = '${sequence}'::regclass::oid
          and locks.database = (select oid from pg_database where datname = current_database())
      )) end
      from ${sequence} as numbers`,
  };
}
