/**
 * Credentials as Lambda gives them, by the environment. In bundles this takes the place of the SDK's whole chain (profiles, SSO,
 * instance metadata), which a function never uses and would load at each cold start.
 */
import { fromEnv } from '@aws-sdk/credential-provider-env';

export const defaultProvider = fromEnv;
