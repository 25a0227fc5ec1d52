/** A service that Stowage depends on, as a process that this suite may end at any time. */
export interface Service {
  readonly name: 'postgres' | 'redis' | 's3';
  /** On 127.0.0.1, the same after each start. */
  readonly port: number;
  /** Sends a signal, and resolves when the process has ended. SIGKILL when it takes too long. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts it unless it runs, and resolves when it answers. */
  ensure(): Promise<void>;
  close(): Promise<void>;
}
