package ipc

import (
	"bufio"
	"bytes"
	"testing"

	"heddle/yarn/ipc/packet"
	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// bare is a protection that does nothing.
type bare struct{}

func (bare) Wrap(to, message []byte) ([]byte, error) { return append(to, message...), nil }

func (bare) Unwrap(token []byte) ([]byte, error) { return token, nil }

func (bare) MaxMessage() int { return 7 }

var _ sasl.Protection = bare{}

// Whatever tokens arrive, reading ends, and a packet is what the tokens hold.
func FuzzTokenStream(f *testing.F) {
	s := packet.Sealer{Protection: bare{}, Header: appendWrapHeader}
	var stream []byte
	for _, part := range [][]byte{{0, 0, 0, 3, 'a', 'b'}, {'c', 0}, {0, 0, 1, 'd'}} {
		b, err := s.Seal(part)
		if err != nil {
			f.Fatal(err)
		}
		stream = append(stream, b.B...)
	}
	f.Add(stream)
	f.Add(stream[:len(stream)-2])
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		p := packet.Reader{R: bufio.NewReader(bytes.NewReader(b)), Max: 1 << 16}
		o := p.Open(bare{}, 1<<16, func(raw []byte) ([]byte, error) {
			var h responseHeader
			head, rest, err := delimited(raw)
			if err == nil {
				_, err = h.parse(head)
			}
			if err != nil {
				return nil, err
			}
			return openWrap(rest)
		})
		total := 0
		for {
			one, owner, err := p.Next()
			if err != nil {
				break
			}
			if total += len(one) + 4; total > len(b) {
				t.Errorf("%d bytes of packets from %d", total, len(b))
			}
			if owner != nil {
				owner.Free()
			}
		}
		o.Drop()
		if n := p.Within.Load(); n != 0 {
			t.Errorf("%d packets are still arriving", n)
		}
	})
}

// A server's token has the header that stock's have: the call id and the status.
func TestHeaderOfTokens(t *testing.T) {
	if got, want := appendWrapHeader(nil), []byte{8, 8, 0xdf, 0xff, 0xff, 0xff, 0x0f, 0x10, 0}; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	var h responseHeader
	if _, err := h.parse(appendWrapHeader(nil)[1:]); err != nil || h.callID != callSASL || h.status != pb.RpcResponseHeader_SUCCESS {
		t.Errorf("%+v, %v", h, err)
	}
}
