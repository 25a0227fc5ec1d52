/** A refusal or a failure that the S3 server reported. It is the cause of an `AppError`, never shown to callers. */
export class S3Failure extends Error {
  readonly status: number;
  /** S3's own word, such as `NoSuchKey`; `` when the answer had none. */
  readonly s3Code: string;

  constructor(what: string, status: number, body: string) {
    const code = /<Code>([^<]{1,100})<\/Code>/.exec(body)?.[1] ?? '';
    super(`${what}: the S3 server answered ${status} ${code}`.trimEnd());
    this.name = 'S3Failure';
    this.status = status;
    this.s3Code = code;
  }
}

const RETRIED_STATUS = new Set([429, 500, 502, 503, 504]);
const RETRIED_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'EAI_AGAIN']);

/** Whether the same request may well succeed a moment later. Deadlines that have passed are not retried. */
export function isPassing(error: unknown): boolean {
  if (error instanceof S3Failure) return RETRIED_STATUS.has(error.status);
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    RETRIED_CODES.has(error.code)
  );
}
