/**
 * Which folder may know which. `test/arch/directions.test.ts` runs these rules on the tree, and on a fixture that breaks
 * each of them: a rule that cannot fail is no rule.
 *
 * Type imports count like any other (`tsPreCompilationDeps`): a type is knowledge too.
 */

/**
 * The common ground of core/: everything may stand on it. The other top-level file, aggregator.ts, stands on everything, so
 * nothing in the folders of core/ may know it.
 */
const GROUND =
  'core/(assert|bytes|codes|crc32c|elapsed|faults|format-version|hash|heap|knobs|limits|ports|position)\\.ts$';

const CHECKPOINT_AND_BELOW = [
  'core/slice/',
  'core/time/',
  'core/aggregate/',
  'core/definition/',
  'core/decode/',
  'core/state/',
  'core/checkpoint/',
];

/** What each folder of core/ may import besides itself and the common ground. */
const CORE_FOLDERS = {
  slice: [],
  time: [],
  aggregate: [],
  definition: ['core/time/', 'core/aggregate/'],
  decode: ['core/time/', 'core/definition/'],
  state: ['core/time/', 'core/aggregate/', 'core/definition/', 'core/decode/'],
  checkpoint: [
    'core/slice/',
    'core/time/',
    'core/aggregate/',
    'core/definition/',
    'core/decode/',
    'core/state/',
  ],
  task: CHECKPOINT_AND_BELOW,
  query: CHECKPOINT_AND_BELOW,
};

/** The product's folders outside core/, with what each may import besides itself, core/ and packages. */
const OUTER_FOLDERS = {
  adapters: [],
  functions: ['adapters/'],
  runtime: ['adapters/', 'functions/', 'console/'],
  simulation: ['adapters/', 'functions/'],
  testing: ['adapters/', 'functions/', 'simulation/'],
  cli: ['adapters/', 'functions/', 'runtime/', 'console/', 'simulation/', 'testing/'],
};

const PRODUCT = '^(core|adapters|functions|runtime|cli|console|simulation|testing)/';
/** Goes into the functions' bundles, with the packages that it needs. */
const BUNDLED = '^(adapters/aws/|functions/(.+/compose|aws-.+|powertools-.+)\\.ts$)';
const OURS =
  'adapters|functions|runtime|cli|console|simulation|testing|infra|examples|bench|scripts|test';

const coreFolderRules = Object.entries(CORE_FOLDERS).map(([folder, allowed]) => ({
  name: `core-${folder}`,
  comment: `core/${folder} may import itself, the common ground${allowed.map((path) => `, ${path.replaceAll('\\', '').replace('$', '')}`).join('')}.`,
  severity: 'error',
  from: { path: `^core/${folder}/` },
  to: {
    path: '^core/',
    pathNot: [`^core/${folder}/`, `^${GROUND}`, ...allowed.map((path) => `^${path}`)],
  },
}));

const outerFolderRules = Object.entries(OUTER_FOLDERS).map(([folder, allowed]) => ({
  name: `${folder}-direction`,
  comment: `${folder}/ may import ${[folder, 'core', ...allowed].join(', ').replaceAll('/', '')} and packages, nothing else of ours.`,
  severity: 'error',
  from: { path: `^${folder}/` },
  to: { path: `^(${OURS})/`, pathNot: [`^${folder}/`, ...allowed.map((path) => `^${path}`)] },
}));

/** Loaded when it is asked for: says which package it needs where that is not installed (ADR 0002). */
const WITH_OPTIONAL_PEER = '^cli/(?:commands/undelete|deleted-objects)[.]ts$';

module.exports = {
  forbidden: [
    {
      name: 'core-is-closed',
      comment: 'core/ imports only core/: no packages, no node: modules, no other folder.',
      severity: 'error',
      from: { path: '^core/' },
      to: { pathNot: '^core/', couldNotResolve: false },
    },
    {
      name: 'core-ground',
      comment: 'The common ground of core/ knows none of the folders that stand on it.',
      severity: 'error',
      from: { path: `^${GROUND}` },
      to: { path: '^core/', pathNot: `^${GROUND}` },
    },
    ...coreFolderRules,
    ...outerFolderRules,
    {
      name: 'infra-direction',
      comment:
        'infra/ names functions by path; of the product it imports only core/limits.ts, core/definition/ and what functions agree on with it.',
      severity: 'error',
      from: { path: '^infra/' },
      to: {
        path: `^(core|${OURS})/`,
        pathNot: [
          '^infra/',
          '^core/limits\\.ts$',
          '^core/definition/',
          '^functions/deployment-contract\\.ts$',
        ],
      },
    },
    {
      name: 'adapters-apart',
      comment:
        'Adapters know nothing of each other: what they share is a port, belongs to core/, or lies beside their folders.',
      severity: 'error',
      from: { path: '^adapters/([^/]+)/' },
      to: { path: '^adapters/[^/]+/', pathNot: '^adapters/$1/' },
    },
    {
      name: 'functions-apart',
      comment: 'A folder of functions/ is one Lambda: it does not import another.',
      severity: 'error',
      from: { path: '^functions/([^/]+)/' },
      to: { path: '^functions/[^/]+/', pathNot: '^functions/$1/' },
    },
    {
      name: 'nothing-imports-test',
      comment: 'Only tests import tests.',
      severity: 'error',
      from: { pathNot: '^test/' },
      to: { path: '^test/' },
    },
    {
      name: 'product-needs-no-dev-dependency',
      comment: 'What is published installs `dependencies` only.',
      severity: 'error',
      from: { path: PRODUCT, pathNot: [BUNDLED, WITH_OPTIONAL_PEER] },
      to: { dependencyTypes: ['npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'bundled-stays-in-bundles',
      comment:
        'What only runs on Lambda is bundled with its packages: the rest of the product is installed without them.',
      severity: 'error',
      from: { path: PRODUCT, pathNot: BUNDLED },
      to: { path: BUNDLED },
    },
    {
      name: 'no-circular',
      comment: 'Files that import each other are one file, or lack a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage|test/arch/fixture)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
