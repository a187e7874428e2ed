/**
 * What makes a file of core/ depend on more than its arguments: the clock, chance, the machine's zone and language, the
 * process. Biome says most of this in the editor; this reads the syntax tree and says the rest.
 */
import ts from 'typescript';
import type { TreeFile } from './tree.ts';

const IMPURE_GLOBALS = new Set(
  (
    'process global globalThis require Buffer performance crypto fetch console navigator ' +
    'setTimeout setInterval setImmediate clearTimeout clearInterval queueMicrotask ' +
    'WeakRef FinalizationRegistry SharedArrayBuffer Atomics'
  ).split(' '),
);

/** Depend on the zone or the language of the machine: `getHours`, but not `getUTCHours` or `getTime`. */
const IMPURE_METHODS =
  /^([gs]et(FullYear|Month|Date|Day|Hours|Minutes|Seconds|Milliseconds|Year)|getTimezoneOffset|toLocale\w*String|localeCompare)$/;

/** Where zones are read: always a named one, never the machine's. */
const INTL_ALLOWED = /^core\/(time\/|definition\/zone-name\.ts$)/;

/** One line per problem. */
export function impurities({ path, text }: TreeFile): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const problems: string[] = [];
  const visit = (node: ts.Node): void => {
    const problem = impurity(node, path);
    if (problem !== null) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      problems.push(`line ${line + 1}: ${problem}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return problems;
}

function impurity(node: ts.Node, path: string): string | null {
  if (ts.isPropertyAccessExpression(node)) {
    const access = `${node.expression.getText()}.${node.name.text}`;
    if (access === 'Date.now' || access === 'Math.random') return `${access} is not pure`;
    if (IMPURE_METHODS.test(node.name.text)) {
      return `${node.name.text} depends on the zone or language of the machine`;
    }
  }
  if (ts.isNewExpression(node) && isDate(node.expression) && node.arguments?.length !== 1) {
    return '`new Date` without exactly one argument reads the clock or the zone of the machine';
  }
  if (ts.isCallExpression(node) && isDate(node.expression)) return '`Date()` reads the clock';
  if (ts.isIdentifier(node) && !isName(node)) {
    if (IMPURE_GLOBALS.has(node.text)) return `${node.text} is not pure`;
    if (node.text === 'Intl' && !INTL_ALLOWED.test(path)) {
      return 'Intl is for core/time only, where the zone is named';
    }
  }
  return null;
}

const isDate = (node: ts.Node): boolean => ts.isIdentifier(node) && node.text === 'Date';

/** `console` in `x.console`, `{ console: 1 }` and the like is only a name. */
function isName(node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
    ((ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isPropertyDeclaration(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isMethodDeclaration(parent)) &&
      parent.name === node)
  );
}
