/**
 * A resource as the template will have it: after aspects, overrides and escape hatches. Asked only when CDK validates, which is
 * after all of those.
 */
import { type CfnResource, Stack } from 'aws-cdk-lib';

export type Properties = Readonly<Record<string, unknown>>;

interface Rendered {
  readonly Resources: Readonly<Record<string, { readonly Properties?: Properties }>>;
}

/** Every resource renders itself by this; it is public in all but its declaration. */
interface Renders {
  _toCloudFormation(): unknown;
}

export function renderedProperties(resource: CfnResource): Properties {
  const rendered = (resource as unknown as Renders)._toCloudFormation();
  const { Resources: resources } = Stack.of(resource).resolve(rendered) as Rendered;
  return Object.values(resources)[0]?.Properties ?? {};
}

export function logicalIdOf(resource: CfnResource): string {
  return Stack.of(resource).resolve(resource.logicalId);
}
