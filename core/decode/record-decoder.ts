/**
 * From a record's bytes to the fields that a plan needs. The interface takes bytes, so that a scanner over the raw bytes
 * can stand in for `JSON.parse`.
 */

/** A field's value as the plan may use it; undefined where the record has none. */
export type FieldValue = string | number | boolean | null | undefined;

/**
 * What the fold needs of one record. One object is reused for all records of a batch: valid until the next `decode`.
 * Numbers are finite and never −0.
 */
export interface RecordFields {
  /** Event time in milliseconds since the epoch; null when the plan uses arrival time. */
  timeMs: number | null;
  /** The event time was a number in the plan's unit, and not text. */
  isTimeNumber: boolean;
  /** Null when the plan has no categories, or the record has none. */
  category: string | null;
  /** The dedupe id, as text that tells numbers from strings; null when the plan does not dedupe. */
  dedupeId: string | null;
  /**
   * By index of `Plan.fields`; the decoder makes it as long as that. Group fields hold scalars or undefined, aggregate
   * fields numbers, null or undefined. A field that is only counted holds null, undefined, or true for anything else; one
   * that no view of the record's category uses holds undefined.
   */
  values: FieldValue[];
}

/** Why a record cannot be folded; `reason` is stable and people filter by it, `detail` is for a person. */
export interface BadRecord {
  readonly reason: BadRecordReason;
  /** The same for the same bytes and plan, on every machine and version of the runtime. */
  readonly detail: string;
}

export const BAD_RECORD_REASONS = [
  'not-json',
  'not-an-object',
  'no-time',
  'no-dedupe-id',
  'wrong-type',
  'not-finite',
  'integer-too-large',
  'group-key-too-large',
  'record-too-large',
  'too-far-in-the-future',
  'too-far-in-the-past',
  'late',
  /** Folding it threw, which it should not. */
  'fold-failed',
  /** Environments died while they folded it. */
  'kills-its-environment',
] as const;
export type BadRecordReason = (typeof BAD_RECORD_REASONS)[number];

export interface RecordDecoder {
  /** Fills `fields` and returns null, or says why the record is bad (and leaves `fields` in any state). Never throws. */
  decode(data: Uint8Array, fields: RecordFields): BadRecord | null;
}
