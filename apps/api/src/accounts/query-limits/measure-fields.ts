import {
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

/**
 * Adds up a measure over all fields of a selection, those in fragments included wherever they are spread. Each
 * fragment is measured once, so a query of fragments within fragments costs no more than its length. Fragments in a
 * circle count as nothing: another rule refuses them.
 *
 * @param combine the measure of a field, given that of its own selection
 * @param join of two fields side by side
 */
export function measureFields(
  context: ValidationContext,
  selectionSet: SelectionSetNode,
  combine: (field: FieldNode, inner: number) => number,
  join: (left: number, right: number) => number,
): number {
  const measured = new Map<FragmentDefinitionNode, number>();

  const measure = (set: SelectionSetNode | undefined): number => {
    let total = 0;
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD)
        total = join(total, combine(selection, measure(selection.selectionSet)));
      else if (selection.kind === Kind.INLINE_FRAGMENT) total = join(total, measure(selection.selectionSet));
      else total = join(total, measureFragment(context.getFragment(selection.name.value)));
    }
    return total;
  };
  const measureFragment = (fragment: FragmentDefinitionNode | null | undefined): number => {
    if (!fragment) return 0;
    const known = measured.get(fragment);
    if (known !== undefined) return known;
    measured.set(fragment, 0);
    const result = measure(fragment.selectionSet);
    measured.set(fragment, result);
    return result;
  };
  return measure(selectionSet);
}
