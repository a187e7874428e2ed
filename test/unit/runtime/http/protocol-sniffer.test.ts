import { describe, expect, it } from 'vitest';
import { protocolOf } from '../../../../runtime/http/protocol-sniffer.ts';

const of = (head: string) => protocolOf(Buffer.from(head));

describe('telling the protocols of a connection apart', () => {
  it('waits while the bytes may become either', () => {
    expect(of('')).toBeNull();
    expect(of('P')).toBeNull();
    expect(of('PRI')).toBeNull();
  });

  it('knows HTTP/2 by its preface', () => {
    expect(of('PRI ')).toBe('http2');
    expect(of('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toBe('http2');
  });

  it.each(['G', 'GET / HTTP/1.1\r\n', 'PO', 'PRIX', 'PRI/', '\r\n', '\u0016\u0003\u0001'])(
    'takes %j for HTTP/1',
    (head) => {
      expect(of(head)).toBe('http1');
    },
  );
});
