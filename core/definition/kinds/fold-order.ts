/**
 * What the outcome of a fold depends on besides which records there are:
 * - `any-order`: on nothing. Records may be folded in any order, in parts, and the parts merged in any way.
 * - `watermark`: on the watermark as it is when the record's turn comes, and on nothing else of the records before it.
 * - `serial`: on the records before it.
 */
export type FoldOrder = 'any-order' | 'watermark' | 'serial';
