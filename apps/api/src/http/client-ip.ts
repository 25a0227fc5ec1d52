import { isIPv6 } from 'node:net';

/** An address as it is kept and shown: an IPv4 one that came through an IPv6 socket without its prefix. */
export function plainAddress(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}

/**
 * What is counted as one client. Whoever has an IPv6 address usually has 2^64 of them, so these count by their /64.
 * @param ip of the request as Fastify gives it, which follows TRUST_PROXY
 */
export function throttledAddress(ip: string): string {
  const address = plainAddress(ip);
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    // A dotted IPv4 ending stands for two groups.
    const length = after.length + (tail.includes('.') ? 1 : 0);
    while (groups.length + length < 8) groups.push('0');
    groups.push(...after);
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
