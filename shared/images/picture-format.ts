/** The formats that are decoded and encoded here, by sharp's names for them. */
export const PICTURE_FORMATS = ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const;
export type PictureFormat = (typeof PICTURE_FORMATS)[number];

const FORMAT_OF_TYPE: Readonly<Record<string, PictureFormat>> = {
  'image/jpeg': 'jpeg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/tiff': 'tiff',
};

/** The format of a stored content type, or undefined when thumbnails of it are not made (HEIC, or no picture). */
export function pictureFormatOf(contentType: string): PictureFormat | undefined {
  return FORMAT_OF_TYPE[contentType];
}

export function contentTypeOf(format: PictureFormat): string {
  return `image/${format}`;
}
