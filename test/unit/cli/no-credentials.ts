/**
 * An environment in which AWS's rules find no region and no credentials, whoever runs the tests. `vi.unstubAllEnvs` ends it.
 */
import { join } from 'node:path';
import { vi } from 'vitest';

/** `home` is an empty folder. */
export function withoutCredentials(home: string): void {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  }
  vi.stubEnv('HOME', home);
  vi.stubEnv('USERPROFILE', home);
  vi.stubEnv('AWS_CONFIG_FILE', join(home, 'config'));
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(home, 'credentials'));
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
}
