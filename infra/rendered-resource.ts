/**
 * A resource as the template will have it: after aspects, overrides and escape hatches. Asked only when CDK validates, which is
 * after all of those.
 */
import { type CfnResource, Stack } from 'aws-cdk-lib';

export type Properties = Readonly<Record<string, unknown>>;

interface RenderedResource {
  readonly Properties?: Properties;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

interface Rendered {
  readonly Resources: Readonly<Record<string, RenderedResource>>;
}

/** Every resource renders itself by this; it is public in all but its declaration. */
interface Renders {
  _toCloudFormation(): unknown;
}

export function renderedProperties(resource: CfnResource): Properties {
  return rendered(resource)?.Properties ?? {};
}

/** Whether it outlives its stack, and what would replace it. */
export function isKept(resource: CfnResource): boolean {
  const { DeletionPolicy: deleted, UpdateReplacePolicy: replaced } = rendered(resource) ?? {};
  return [deleted, replaced].every((policy) => policy?.startsWith('Retain') === true);
}

export function logicalIdOf(resource: CfnResource): string {
  return Stack.of(resource).resolve(resource.logicalId);
}

/** A part of a rendered value; undefined where there is none. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((part, name) => {
    return typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined;
  }, value);
}

function rendered(resource: CfnResource): RenderedResource | undefined {
  const template = (resource as unknown as Renders)._toCloudFormation();
  const { Resources: resources } = Stack.of(resource).resolve(template) as Rendered;
  return Object.values(resources)[0];
}
