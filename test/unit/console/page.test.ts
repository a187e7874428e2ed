import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeAnswer } from '../../../cli/answer-text.ts';
import { keyText, printableJson } from '../../../cli/printable.ts';
import { numberText } from '../../../cli/table.ts';
// @ts-expect-error the page's own scripts have no types
import * as texts from '../../../console/texts.js';

const read = (file: string) =>
  readFileSync(new URL(`../../../console/${file}`, import.meta.url), 'utf8');

describe('the page', () => {
  it('sets what comes from records as text only', () => {
    const script = read('page.js');
    expect(script).toContain('textContent');
    expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b/);
    expect(script).not.toMatch(/setAttribute\(\s*['"](?:on|style|href|src)/);
  });

  it('needs nothing from elsewhere, and nothing that its policy forbids', () => {
    for (const file of ['index.html', 'page.css', 'page.js', 'texts.js']) {
      expect(read(file), file).not.toMatch(/https?:\/\/|@import|url\(/);
    }
    expect(read('index.html')).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  });

  it('finds every element that its script asks for', () => {
    const page = read('index.html');
    const ids = [...read('page.js').matchAll(/element\('([a-z-]+)'\)/g)].map(([, id]) => id);
    expect(ids.length).toBeGreaterThan(5);
    for (const id of ids) expect(page).toContain(`id="${id}"`);
  });

  it('writes keys and amounts as the command line does', () => {
    const keys = ['LAX', '7', 7, 2024, '', ' x', '"x', null, 'null', true, 'a\u001b[2Jb', 1.5];
    for (const key of keys) expect(texts.keyText(key), printableJson(key)).toBe(keyText(key));
    for (const value of [0, 2024, 1_234_567.99, 52.520_008, 1e21, -0.1]) {
      expect(texts.numberText(value)).toBe(numberText(value));
    }
  });

  it('says how far an answer holds as the command line does', () => {
    const answer = { view: 'v', watermark: null, rows: [], next: null, complete: false };
    for (const [closedBefore, standing] of [
      ['2024-06-15T00:00:00.000Z', 'closed up to 2024-06-15 00:00:00Z'],
      [null, 'nothing closed yet'],
      [undefined, 'goes on growing'],
    ] as const) {
      const asked = {
        ...answer,
        incomplete: ['no-end' as const],
        ...(closedBefore === undefined ? {} : { closedBefore }),
      };
      expect(texts.standingText(asked)).toBe(standing);
      expect(describeAnswer(asked).replace('T00', ' 00')).toContain(`, ${standing}\n`);
    }
    expect(texts.standingText({ ...answer, complete: true, closedBefore: null })).toBe('complete');
  });

  it('writes times with the offset of their zone', () => {
    expect(texts.timeText('2024-06-15T00:00:00.000Z')).toBe('2024-06-15 00:00:00Z');
    expect(texts.timeText('2024-06-15T00:00:00.000+02:00')).toBe('2024-06-15 00:00:00 +02:00');
    expect(texts.timeText('2024-06-15T00:00:00.125-03:30')).toBe('2024-06-15 00:00:00.125 -03:30');
  });
});
