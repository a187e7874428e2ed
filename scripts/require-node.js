/*
 * Runs before the npm scripts that need Node 24. The package `node` in devDependencies brings it, whatever the machine
 * has, and npm puts it first in the path of every script; but it arrives by an install script, which npm may be told
 * not to run. Old syntax on purpose: whichever Node stands here must be able to read this file.
 */
import { existsSync } from 'node:fs';

var REQUIRED_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) < REQUIRED_MAJOR) {
  console.error(explanation());
  process.exit(1);
}

function explanation() {
  var here = 'This needs Node ' + REQUIRED_MAJOR + ', but runs on ' + process.version + '.\n';
  if (!existsSync(new URL('../node_modules/', import.meta.url))) {
    return (
      here +
      'Nothing is installed yet: run `npm ci`, which also brings Node ' +
      REQUIRED_MAJOR +
      '.'
    );
  }
  if (existsSync(new URL('../node_modules/node/bin/node', import.meta.url))) {
    return (
      here +
      'Node ' +
      REQUIRED_MAJOR +
      ' is installed in node_modules/.bin, but it is not first in PATH:\n' +
      'start this by `npm run`, or put node_modules/.bin first in PATH.'
    );
  }
  return (
    here +
    'The npm package `node` brings it by an install script, and that did not run: npm has `ignore-scripts`\n' +
    'set, or blocked it. Run `npm rebuild node --ignore-scripts=false`, or make Node ' +
    REQUIRED_MAJOR +
    ' the node of\n' +
    'your shell.'
  );
}
