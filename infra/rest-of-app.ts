/**
 * Whether CDK will refuse anything else in the app. It asks one construct after another: what this one allows is not deployed if
 * a later one objects, and then nothing may be locked.
 *
 * Plugins (cdk-nag) come later, when the templates are written. After their refusal the lock file may hold what is not deployed:
 * the next synth compares with it all the same, and version control has the former.
 */
import { ArtifactMetadataEntryType } from 'aws-cdk-lib/cloud-assembly-schema';
import type { Construct, IConstruct } from 'constructs';

/** Another pipeline that is asked here does not ask back, nor does it lock: its own turn comes. */
let isAsking = false;

export function isRestAllowed(construct: Construct): boolean {
  if (isAsking) return false;
  isAsking = true;
  try {
    const all = construct.node.root.node.findAll();
    return !all.some((node) => hasError(node) || (node !== construct && objects(node)));
  } finally {
    isAsking = false;
  }
}

/** By `Annotations.addError`, for which the command line ends a synth. */
function hasError({ node }: IConstruct): boolean {
  return node.metadata.some(({ type }) => type === ArtifactMetadataEntryType.ERROR);
}

function objects({ node }: IConstruct): boolean {
  return node.validate().length > 0;
}
