import { AppError } from '@stowage/shared/errors/app-error.ts';

export interface UploadPlacesOptions {
  /** Most uploads under way in this process. */
  readonly places: number;
  /** Most of them for one user. */
  readonly placesPerUser: number;
}

/** Bounds the uploads that are under way, so that neither their number nor one user's slow ones can grow. */
export class UploadPlaces {
  readonly #options: UploadPlacesOptions;
  readonly #taken = new Map<string, number>();
  #takenInAll = 0;

  constructor(options: UploadPlacesOptions) {
    this.#options = options;
  }

  /**
   * Takes a place. It is given back by calling what is returned, once.
   * @throws {AppError} OVERLOADED
   */
  take(userId: string): () => void {
    const taken = this.#taken.get(userId) ?? 0;
    if (this.#takenInAll >= this.#options.places || taken >= this.#options.placesPerUser)
      throw new AppError('OVERLOADED', 'Too many uploads are under way just now. Try again soon.');
    this.#takenInAll += 1;
    this.#taken.set(userId, taken + 1);
    return () => this.#giveBack(userId);
  }

  #giveBack(userId: string): void {
    this.#takenInAll -= 1;
    const left = (this.#taken.get(userId) ?? 0) - 1;
    if (left > 0) this.#taken.set(userId, left);
    else this.#taken.delete(userId);
  }
}
