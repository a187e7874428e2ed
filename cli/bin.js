#!/usr/bin/env node
/*
 * The door of the command line. It says in plain words when Node is too old, and only then loads the rest: an `import`
 * statement would be resolved before any line of this file runs. Old syntax on purpose, for the same reason.
 *
 * Beside it lies tidemark.ts in a checkout, which Node runs as it is; a package from npm brings ../dist instead, as Node
 * strips no types under node_modules.
 */
var REQUIRED = [22, 18];

var version = process.versions.node.split('.').map(Number);
if (version[0] < REQUIRED[0] || (version[0] === REQUIRED[0] && version[1] < REQUIRED[1])) {
  console.error(
    'Tidemark needs Node ' +
      REQUIRED.join('.') +
      ' or newer; this is Node ' +
      process.versions.node +
      ' (' +
      process.execPath +
      ').\n' +
      'Install a newer one from https://nodejs.org and try again.',
  );
  process.exit(1);
}

// What was compiled is kept between processes, in the system's folder for temporary files: a start takes half the time.
Promise.all([import('node:fs'), import('node:module')])
  .then(([fs, module]) => {
    module.enableCompileCache();
    var source = new URL('./tidemark.ts', import.meta.url);
    return import(
      fs.existsSync(source) ? source.href : new URL('../dist/cli/tidemark.js', import.meta.url).href
    );
  })
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
