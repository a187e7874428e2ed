/**
 * The answer to CloudFormation, at the URL that it gave: it waits for one for an hour otherwise.
 */
const ATTEMPTS_MAX = 5;
const ATTEMPT_MS_MAX = 10_000;
const PAUSE_MS = 500;

export async function putAnswer(url: string, body: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const signal = AbortSignal.timeout(ATTEMPT_MS_MAX);
      // The URL is signed for an empty type.
      const headers = { 'content-type': '' };
      const response = await fetch(url, { method: 'PUT', body, signal, headers });
      if (response.ok) return;
      throw new Error(`CloudFormation took no answer: ${response.status}`);
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, attempt * PAUSE_MS));
    }
  }
}
