/**
 * House rules that no other tool checks, each a function from a tree to what is wrong in it. `tidy.test.ts` runs them on
 * the repository and shows for each that it finds a planted case.
 */
import { impurities } from './purity.ts';
import type { TreeFile } from './tree.ts';

export interface TidyRule {
  readonly name: string;
  /** One line per problem: where, what, and what to do. */
  readonly problems: (tree: readonly TreeFile[]) => string[];
}

const LINES_MAX = 400;
const HANDLER_LINES_MAX = 40;

const isProduct = (path: string): boolean =>
  /^(core|adapters|functions|runtime|cli|console|infra)\//.test(path);
const isCode = (path: string): boolean => /\.(ts|js|cjs|mjs)$/.test(path);
const lineCount = (text: string): number => text.replace(/\n$/, '').split('\n').length;

/** A rule about single files. */
function ofFiles(
  name: string,
  applies: (path: string) => boolean,
  problems: (file: TreeFile) => string[],
): TidyRule {
  return {
    name,
    problems: (tree) =>
      tree
        .filter((file) => applies(file.path))
        .flatMap((file) => problems(file).map((problem) => `${file.path}: ${problem}`)),
  };
}

/** A rule about lines: `problem` gives what is wrong with a line, or null. */
function ofLines(
  name: string,
  applies: (path: string) => boolean,
  problem: (line: string) => string | null,
): TidyRule {
  return ofFiles(name, applies, ({ text }) =>
    text.split('\n').flatMap((line, index) => {
      const found = problem(line);
      return found === null ? [] : [`line ${index + 1}: ${found}`];
    }),
  );
}

const fileLength = ofFiles(
  'file-length',
  (path) => isCode(path) && !path.startsWith('test/'),
  ({ path, text }) => {
    const max = /^functions\/[^/]+\/handler\.ts$/.test(path) ? HANDLER_LINES_MAX : LINES_MAX;
    const lines = lineCount(text);
    return lines <= max ? [] : [`${lines} lines, at most ${max}: find the second noun in it`];
  },
);

const BANNED_NAMES = new Set(
  'util utils helper helpers common misc shared manager service base index'.split(' '),
);
/** The public entry, and a word of the checkpoint format. */
const NAMES_ALLOWED = new Set([
  'core/definition/index.ts',
  'core/checkpoint/base.ts',
  'testing/index.ts',
  'infra/index.ts',
]);

const fileNames = ofFiles('file-names', isCode, ({ path }) => {
  if (NAMES_ALLOWED.has(path)) return [];
  const folders = path.split('/');
  const file = folders.pop() ?? '';
  const nouns = [...folders, file.replace(/\..*$/, '')];
  const banned = nouns.filter((noun) => BANNED_NAMES.has(noun));
  return [
    ...banned.map((noun) => `"${noun}" says nothing: name it for its main noun`),
    ...(/^\.?[a-z0-9]+([-.][a-z0-9]+)*$/.test(file) ? [] : ['not in kebab-case']),
  ];
});

const typeNames = ofLines('type-names', isCode, (line) => {
  const [, name] =
    /\b(?:interface|class|type)\s+(I[A-Z]\w*|\w+Impl)\s*(?:[<={]|extends|implements)/.exec(line) ??
    [];
  return name === undefined ? null : `${name}: no I… and no …Impl, name what makes it different`;
});

const barrels = ofLines(
  'barrels',
  (path) => isCode(path) && path !== 'core/definition/index.ts',
  (line) => (/^export \* /.test(line) ? 'no barrels: import from the file that owns it' : null),
);

/** Spelt in two halves, so that this file does not break its own rule. */
const BANNED_WORDS = new RegExp(
  `\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`,
);

const bannedWords = ofLines(
  'banned-words',
  () => true,
  (line) => {
    const found = BANNED_WORDS.exec(line)?.[0];
    if (found !== undefined) return `${found}: do it, or say why it is not done`;
    return /\bissue #?\d/i.test(line)
      ? 'readers cannot open an issue number: say what it is'
      : null;
  },
);

const machinePaths = ofLines(
  'machine-paths',
  () => true,
  (line) =>
    /(^|[\s"'`(=:])\/(work|root|home|Users)\/\w/.test(line) ? "a path of someone's machine" : null,
);

const purity: TidyRule = ofFiles(
  'core-is-pure',
  (path) => path.startsWith('core/') && path.endsWith('.ts'),
  impurities,
);

const environment = ofLines(
  'environment',
  (path) =>
    /^(adapters|functions|runtime)\//.test(path) && !/^functions\/[^/]+\/compose\.ts$/.test(path),
  (line) =>
    /\bprocess\.env\b/.test(line)
      ? 'only compose.ts reads the environment: take it as an argument'
      : null,
);

/** `new URL('./x.ts', import.meta.url)` is not rewritten by the compiler and leads nowhere in dist/. */
const workerEntries = ofLines(
  'worker-entries',
  (path) => isProduct(path) && path.endsWith('.ts'),
  (line) =>
    /new URL\(\s*['"][^'"]*\.ts['"]/.test(line)
      ? 'not there in a package, where it ends in .js: name it by runtime/thread-entry.ts'
      : null,
);

const moduleMocks = ofLines(
  'module-mocks',
  (path) => /^test\/(unit|infra)\/.*\.ts$/.test(path),
  (line) =>
    /\bvi\.(do)?mock\(/i.test(line)
      ? 'other test files share its modules (vitest.config.ts): spy, or pass what differs'
      : null,
);

const ADR_HEADINGS = ['Context', 'Decision', 'Rejected alternatives', 'Cost', 'Testing', 'Status'];

const adrs: TidyRule = {
  name: 'adrs',
  problems: (tree) => {
    const list = tree.find(({ path }) => path === 'docs/adr/README.md')?.text ?? '';
    return tree
      .filter(({ path }) => /^docs\/adr\/\d/.test(path))
      .flatMap(({ path, text }) => {
        const file = path.replace('docs/adr/', '');
        const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
        const missing = ADR_HEADINGS.filter((heading) => !headings.includes(heading));
        return [
          ...(list.includes(`](${file})`) ? [] : [`${path}: not listed in docs/adr/README.md`]),
          ...missing.map((heading) => `${path}: lacks "## ${heading}"`),
        ];
      });
  },
};

const changelog = ofFiles(
  'changelog',
  (path) => path === 'CHANGELOG.md',
  ({ text }) =>
    ['## Unreleased', '### Safety and Performance', '### Features', '### Internals']
      .filter((heading) => !text.split('\n').includes(heading))
      .map((heading) => `lacks "${heading}"`),
);

const npmScripts: TidyRule = {
  name: 'npm-scripts',
  problems: (tree) => {
    const { scripts } = packageJson(tree);
    return tree
      .filter(({ path }) => path.endsWith('.md') || path.startsWith('.ci/'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(test))\b/g)]
          .map(([, named, test]) => named ?? test ?? '')
          .filter((script) => !(script in scripts))
          .map((script) => `${path}: npm script "${script}" is not in package.json`),
      );
  },
};

const links: TidyRule = {
  name: 'links',
  problems: (tree) =>
    tree
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)]
          .map(([, target]) => target ?? '')
          .filter((target) => !leadsSomewhere(tree, path, target))
          .map((target) => `${path}: the link ${target} leads nowhere`),
      ),
};

function leadsSomewhere(tree: readonly TreeFile[], from: string, target: string): boolean {
  const wanted = new URL(target, `file:///${from}`).pathname.slice(1);
  const folder = wanted.endsWith('/') ? wanted : `${wanted}/`;
  return tree.some(({ path }) => path === wanted || path.startsWith(folder));
}

const exactVersions: TidyRule = {
  name: 'exact-versions',
  problems: (tree) => {
    const { dependencies, devDependencies } = packageJson(tree);
    return Object.entries({ ...dependencies, ...devDependencies })
      .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
      .map(([name, version]) => `package.json: ${name} "${version}" is not one exact version`);
  },
};

const lockFile = ofFiles(
  'lock-file',
  (path) => path === 'package-lock.json',
  ({ text }) =>
    /"resolved": "https?:/.test(text)
      ? [
          'names a registry: `npm config set omit-lockfile-registry-resolved true`, then `npm install`',
        ]
      : [],
);

const packageJsonIsOurs: TidyRule = {
  name: 'package-json-is-ours',
  problems: (tree) =>
    'engines' in packageJson(tree)
      ? [
          'package.json: as an interrupted `npm pack` left it; `node scripts/pack.ts restore` brings ours back',
        ]
      : [],
};

function packageJson(tree: readonly TreeFile[]): {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
} {
  const file = tree.find(({ path }) => path === 'package.json');
  if (file === undefined) throw new Error('the tree has no package.json');
  return { scripts: {}, dependencies: {}, devDependencies: {}, ...JSON.parse(file.text) };
}

export const TIDY_RULES: readonly TidyRule[] = [
  fileLength,
  fileNames,
  typeNames,
  barrels,
  bannedWords,
  machinePaths,
  purity,
  environment,
  workerEntries,
  moduleMocks,
  adrs,
  changelog,
  npmScripts,
  links,
  exactVersions,
  lockFile,
  packageJsonIsOurs,
];
