/** A repair that is safe: it decides anew, on locked rows, whether it is still needed. */
export type Remedy =
  /** Brings the quota row and the ledger of a user back to what files, uploads and adjustments say. */
  | { readonly kind: 'balance-books'; readonly userId: string }
  /** Fetches an original from the quarantine. */
  | { readonly kind: 'restore-original'; readonly fileId: string }
  /** Makes all variants of a picture anew. */
  | { readonly kind: 'render'; readonly fileId: string }
  /** Removes the row of a variant whose object is gone, of a picture that cannot be rendered any more. */
  | { readonly kind: 'forget-variant'; readonly fileId: string; readonly key: string }
  /** Moves an object that no row knows of under `quarantine/`. */
  | { readonly kind: 'quarantine'; readonly key: string; readonly modifiedAt: Date }
  /** Publishes a job again that the queue has lost. */
  | { readonly kind: 'publish-again'; readonly jobId: string }
  | { readonly kind: 'sweep-uploads' }
  | { readonly kind: 'requeue-deletions' }
  | { readonly kind: 'requeue-postings' };
