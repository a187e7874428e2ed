import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { shellPath, shellQuoted, shellWord } from '../../../cli/shell-word.ts';

const TEXTS = [
  'my file.csv',
  "it's",
  '',
  '$HOME `id` $(id)',
  'a\\b"c',
  '~/x',
  '=ls',
  '*?[a]{b,c}',
  'a;b&c|d>e<f#g!h',
  'Köln\n2',
  'a\tb',
];

describe('a word of a command', () => {
  it.each(['data/copy-2', './a_b.csv', 'http://127.0.0.1:4580', 's@x:1,2+3%'])(
    'stays as it is where no shell sees more in it: %s',
    (text) => expect(shellWord(text)).toBe(text),
  );

  it('is one word with the same characters for a shell', () => {
    for (const word of [shellWord, shellQuoted]) {
      const command = `printf '%s\\0' ${TEXTS.map(word).join(' ')}`;
      const printed = execFileSync('sh', ['-c', command], { encoding: 'utf8' });
      expect(printed.split('\0').slice(0, -1)).toEqual(TEXTS);
    }
  });

  it('that is a path is never taken for an option', () => {
    expect(shellPath('-rf')).toBe('./-rf');
    expect(shellPath('-my file')).toBe("'./-my file'");
  });
});
