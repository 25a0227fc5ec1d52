export interface Device {
  /** Such as `Firefox 128`, or null when the client does not say. */
  readonly browser: string | null;
  readonly os: string | null;
}

// The order matters: most browsers also claim to be the ones further down.
const BROWSERS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\b(?:OPR|Opera)\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//],
  ['curl', /^curl\/(\d+)/],
  ['Node.js', /^(?:node|undici)(?:\/(\d+))?/],
];

const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Windows', /\bWindows\b/],
  ['iPadOS', /\biPad\b/],
  ['iOS', /\b(?:iPhone|iPod)\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\b(?:Macintosh|Mac OS X)\b/],
  ['Linux', /\bLinux\b/],
];

/** What a `User-Agent` header tells about browser and operating system: for people to recognise their sessions by. */
export function describeDevice(userAgent: string): Device {
  let browser: string | null = null;
  for (const [name, pattern] of BROWSERS) {
    const match = pattern.exec(userAgent);
    if (match === null) continue;
    browser = match[1] === undefined ? name : `${name} ${match[1]}`;
    break;
  }
  return { browser, os: SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0] ?? null };
}
