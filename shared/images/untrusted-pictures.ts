import sharp from 'sharp';

/**
 * Prepares libvips of this process for pictures by strangers: only six loaders are left, nothing is cached, and one
 * thread works on one picture (pictures in flight give the parallelism).
 */
export function prepareForUntrustedPictures(): void {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({
    operation: [
      'VipsForeignLoadJpeg',
      'VipsForeignLoadPng',
      'VipsForeignLoadWebp',
      'VipsForeignLoadNsgif',
      'VipsForeignLoadHeif',
      'VipsForeignLoadTiff',
    ],
  });
  sharp.cache(false);
  sharp.concurrency(1);
}
