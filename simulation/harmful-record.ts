/**
 * Records that harm the environment that folds them: some kill their environment, some make the fold throw. They are sound otherwise, so
 * that nothing but what happens tells them from others.
 */
import { encodeText } from '../core/bytes.ts';
import type { RecordDecoder } from '../core/decode/record-decoder.ts';

export type Harm = 'kills' | 'throws';

const MARKS = { kills: '{"harm":"kills",', throws: '{"harm":"throws",' } as const;
const OBJECT = '{"id":';

/** The same record, with harm in it; one that is no event stays as it is. */
export function withHarm(data: Uint8Array, harm: Harm): Uint8Array {
  const text = new TextDecoder().decode(data);
  return text.startsWith(OBJECT) ? encodeText(MARKS[harm] + text.slice(1)) : data;
}

export function harmOf(data: Uint8Array): Harm | null {
  const text = String.fromCharCode(...data.subarray(0, MARKS.throws.length));
  if (text.startsWith(MARKS.kills)) return 'kills';
  return text.startsWith(MARKS.throws) ? 'throws' : null;
}

/** `decoder`, as an environment meets it: `onRecord` comes before each record, `onDeath` instead of one that kills. */
export function harmedDecoder(
  decoder: RecordDecoder,
  onRecord: () => void,
  onDeath: (data: Uint8Array) => void,
): RecordDecoder {
  return {
    decode(data, fields) {
      onRecord();
      const harm = harmOf(data);
      if (harm === null) return decoder.decode(data, fields);
      // A dead environment gets no further than to its next call.
      if (harm === 'kills') onDeath(data);
      throw new Error('this record throws when it is folded');
    },
  };
}
