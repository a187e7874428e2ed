/** `node:sqlite` works and is called experimental; a person who starts a pipeline need not read that each time. */
export function silenceExperimentalWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') console.error(`warning: ${warning.message}`);
  });
}
