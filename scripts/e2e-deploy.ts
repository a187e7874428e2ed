/**
 * The deploy lane: this repository's own app on an emulator of AWS, by plain `cdk` and through the same endpoints as on AWS.
 * Records by the SDK and by boto3; answers, HEADs and the quarantine; a change of plan, deployed; and everything destroyed.
 *
 *   npm run e2e:deploy                                        ministack, started here on port 4566
 *   AWS_ENDPOINT_URL=http://127.0.0.1:4566 npm run e2e:deploy one that runs already (LocalStack)
 *
 * Where the emulator cannot be had the lane says so and does nothing, unless TIDEMARK_REQUIRE_EMULATORS=1.
 */
import { EmulatorMissing, startAwsEmulator } from './aws-emulator.ts';
import { CdkRun } from './deploy-lane/cdk-run.ts';
import { checkPipeline } from './deploy-lane/pipeline-check.ts';
import { checkFarewell } from './deploy-lane/stack-farewell.ts';
import { assertNothingIsLeft } from './deploy-lane/stored-state.ts';

const PORT = 4566;
const FLIGHTS = 'examples/flights/tidemark.config.ts';

try {
  await run();
} catch (error) {
  const isRequired = process.env['TIDEMARK_REQUIRE_EMULATORS'] === '1';
  if (!(error instanceof EmulatorMissing) || isRequired) throw error;
  console.log(`e2e:deploy skipped: ${error.message}`);
}

async function run(): Promise<void> {
  const given = process.env['AWS_ENDPOINT_URL'];
  const emulator = given === undefined ? await startAwsEmulator(PORT) : null;
  const endpoint = given ?? (emulator?.endpoint as string);
  if (given !== undefined) await assertAnswers(given);
  try {
    const cdk = new CdkRun(endpoint);
    await cdk.bootstrap();
    const outputs = await cdk.deploy(FLIGHTS);
    try {
      await checkPipeline({ endpoint, outputs, redeploy: (file) => cdk.deploy(file) });
      await checkFarewell(endpoint);
    } finally {
      await cdk.destroy();
    }
    await assertNothingIsLeft(endpoint);
    console.log('e2e:deploy passed: deployed, counted, changed, destroyed');
  } finally {
    await emulator?.stop();
  }
}

/** Found out before a minute of commands that all fail. */
async function assertAnswers(endpoint: string): Promise<void> {
  try {
    await fetch(endpoint, { signal: AbortSignal.timeout(5_000) });
  } catch {
    console.error(
      `nothing answers at ${endpoint} (AWS_ENDPOINT_URL): start an emulator there, as 'npm run emulator -- start' does, or leave the variable out`,
    );
    process.exit(1);
  }
}
