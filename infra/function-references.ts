/**
 * Whether a resource somewhere in the app is on a function of ours: directly from any stack; in the function's own also through
 * a version, an alias or an escape hatch.
 */
import { type CfnResource, Reference, Stack, Tokenization } from 'aws-cdk-lib';
import { CfnAlias, type CfnFunction, CfnVersion } from 'aws-cdk-lib/aws-lambda';
import { logicalIdOf, renderedProperties } from './rendered-resource.ts';

interface Naming {
  readonly resource: CfnResource;
  /** The property that names the function, and its value before it is rendered. */
  readonly property: string;
  readonly given: string;
}

export function isOn(target: CfnFunction, { resource, property, given }: Naming): boolean {
  const { tokens } = Tokenization.reverseString(given);
  if (tokens.some((token) => Reference.isReference(token) && token.target === target)) return true;
  const stack = Stack.of(target);
  if (Stack.of(resource) !== stack) return false;
  return mentions(renderedProperties(resource)[property], idsOf(target, stack));
}

function idsOf(target: CfnFunction, stack: Stack): ReadonlySet<string> {
  const id = logicalIdOf(target);
  const others = stack.node
    .findAll()
    .filter((node) => node instanceof CfnVersion || node instanceof CfnAlias)
    .filter((node) => Stack.of(node) === stack)
    .filter((node) => mentions(renderedProperties(node)['FunctionName'], new Set([id])))
    .map(logicalIdOf);
  return new Set([id, ...others]);
}

function mentions(value: unknown, ids: ReadonlySet<string>): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, part]) => {
    if (typeof part === 'string' && name === 'Ref') return ids.has(part);
    if (name === 'Fn::GetAtt')
      return ids.has(String(Array.isArray(part) ? part[0] : part).split('.')[0] ?? '');
    if (name === 'Fn::Sub') {
      const text = String(Array.isArray(part) ? part[0] : part);
      const isNamed = [...text.matchAll(/\$\{([A-Za-z0-9]+)/g)].some(([, id]) => ids.has(id ?? ''));
      return isNamed || mentions(part, ids);
    }
    return mentions(part, ids);
  });
}
