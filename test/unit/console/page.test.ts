import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

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
    for (const file of ['index.html', 'page.css', 'page.js']) {
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
});
