import { expect, it } from 'vitest';
import { UploadPlaces } from './upload-places.ts';

const overloaded = expect.objectContaining({ code: 'OVERLOADED' });

it('gives each user some places, and all of them together no more than there are', () => {
  const places = new UploadPlaces({ places: 3, placesPerUser: 2 });
  const giveBack = places.take('a');
  places.take('a');
  expect(() => places.take('a')).toThrow(overloaded);
  const last = places.take('b');
  expect(() => places.take('b')).toThrow(overloaded);
  expect(() => places.take('c')).toThrow(overloaded);
  giveBack();
  places.take('c');
  expect(() => places.take('a')).toThrow(overloaded);
  last();
  places.take('a');
});
