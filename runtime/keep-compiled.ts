/**
 * Has Node keep between processes what it compiles from here on: a start takes half the time. A thread imports this first; the
 * process has it kept from `cli/bin.js` on.
 */
import { enableCompileCache, flushCompileCache } from 'node:module';

/** By then a thread has compiled what it starts with, and answered what waited for it. */
const KEEP_AFTER_MS = 2_000;

enableCompileCache();
// Node does so at its end only, which a process that is killed does not come to.
setTimeout(flushCompileCache, KEEP_AFTER_MS).unref();
