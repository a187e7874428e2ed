/**
 * What `cdk` runs: this repository's app, which is synthesised when the process ends.
 *
 *   npx cdk deploy                             stage dev
 *   npx cdk deploy -c stage=prod               keeps stream, table, bucket and logs
 *   npx cdk deploy -c pipeline=FILE            another pipeline, in a stack of its own
 *   npx cdk deploy -c target=emulator          LocalStack and its like, with AWS_ENDPOINT_URL in the environment
 */
import { repositoryApp } from './repository-app.ts';

repositoryApp();
