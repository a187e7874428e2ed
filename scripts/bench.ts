/**
 * Runs one bench by name, with the Node that the project brings: `npm run bench -- fold [arguments]`.
 */
import { readdirSync } from 'node:fs';

const folder = new URL('../bench/', import.meta.url);
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length));
const [name] = process.argv.splice(2, 1);
if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- ${names.join(' | ')}`);
  process.exit(2);
}
await import(new URL(`${name}.ts`, folder).href);
