import type { Db } from '../database/open-database.ts';
import { AppError } from '../errors/app-error.ts';
import { topUpReservation } from './top-up-reservation.ts';

/** Bytes of a request that are not bytes of files: boundaries, part headers. Admission does not count them. */
const FRAMING_BYTES = 4 * 1024;

/** A request whose length is unknown reserves in steps of so many bytes. */
const STEP_BYTES = 8 * 1024 * 1024;

/** What is reserved before the first byte of a body is read. */
export function firstReservation(announcedBytes: number | undefined): number {
  return announcedBytes === undefined ? 0 : Math.max(0, announcedBytes - FRAMING_BYTES);
}

export interface ReservationOptions {
  readonly db: Db;
  readonly uploadId: string;
  readonly userId: string;
  readonly announcedBytes: number | undefined;
}

/** Keeps what arrives within what is reserved. */
export interface Reservation {
  /**
   * Called with each chunk's bytes before they are kept.
   * @throws {AppError} QUOTA_EXCEEDED when no byte more finds room, UPLOAD_LEASE_LOST
   */
  spend(bytes: number): Promise<void> | undefined;
}

export function createReservation({ db, uploadId, userId, announcedBytes }: ReservationOptions): Reservation {
  // With an announced length the body cannot be longer than reservation and framing together: `finish` asks for
  // what is missing, and no statement is spent on it here.
  if (announcedBytes !== undefined) return { spend: () => undefined };

  let left = 0;
  async function topUp(): Promise<void> {
    while (left < 0) {
      const outcome = await topUpReservation(db, { uploadId, userId, stepBytes: STEP_BYTES });
      if (outcome.kind === 'no-room') throw quotaExceeded();
      if (outcome.kind === 'lease-lost') throw leaseLost();
      left += outcome.bytes;
    }
  }
  return {
    spend(bytes) {
      left -= bytes;
      return left < 0 ? topUp() : undefined;
    },
  };
}

export function quotaExceeded(): AppError {
  return new AppError('QUOTA_EXCEEDED', 'Your quota has no room for this upload.');
}

export function leaseLost(): AppError {
  return new AppError('UPLOAD_LEASE_LOST', 'The upload took too long to be kept. Try again.');
}
