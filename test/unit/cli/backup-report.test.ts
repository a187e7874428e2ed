import { expect, it } from 'vitest';
import { backupReportText } from '../../../cli/backup-report.ts';

it('the report of a backup ends with a command that runs when copied', () => {
  const report = { pipeline: 'shop', path: '/d/my copy', folded: 1, objects: 2, tookMs: 12 };

  expect(backupReportText(report, 'my copy')).toBe(
    'backed up pipeline shop to /d/my copy in 12 ms: 1 record in checkpoints, and all that were acknowledged before it began\n' +
      "  start from it with: npx tidemark dev --data 'my copy' --pipeline FILE",
  );
});
