/** A reason not to start that is told to people as it stands, without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
