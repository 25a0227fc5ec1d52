import { describe, expect, it } from 'vitest';
import { plainAddress, throttledAddress } from './client-ip.ts';

describe('throttledAddress', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ])('counts %s as %s', (ip, expected) => {
    expect(throttledAddress(ip)).toBe(expected);
  });
});

describe('plainAddress', () => {
  it('takes off the prefix of IPv4 addresses that came by IPv6', () => {
    expect(plainAddress('::ffff:192.0.2.1')).toBe('192.0.2.1');
    expect(plainAddress('::ffff:1')).toBe('::ffff:1');
  });
});
