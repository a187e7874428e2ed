/**
 * The emulator of AWS for one test file: started before its tests are declared, stopped after them. Where it cannot be had
 * the tests are skipped, and say why; with TIDEMARK_REQUIRE_EMULATORS=1 they fail.
 */
import { afterAll, describe, it } from 'vitest';
import { type AwsEmulator, EmulatorMissing, startAwsEmulator } from '../../scripts/aws-emulator.ts';

export async function describeOnEmulator(
  name: string,
  declare: (endpoint: string) => void,
): Promise<void> {
  const emulator = await start();
  if (emulator instanceof EmulatorMissing) {
    const isRequired = process.env['TIDEMARK_REQUIRE_EMULATORS'] === '1';
    it.skipIf(!isRequired)(
      `${name} (${isRequired ? 'required' : 'skipped'}: ${emulator.message})`,
      () => {
        throw emulator;
      },
    );
    return;
  }
  describe(name, () => {
    afterAll(() => emulator.stop());
    declare(emulator.endpoint);
  });
}

async function start(): Promise<AwsEmulator | EmulatorMissing> {
  try {
    return await startAwsEmulator();
  } catch (error) {
    if (error instanceof EmulatorMissing) return error;
    throw error;
  }
}
