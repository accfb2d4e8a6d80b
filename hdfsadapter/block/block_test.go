package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"heddle/yarn/pb"
)

// script is a connection on which a DataNode has said everything beforehand.
type script struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s *script) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) Close() error                     { return nil }

func randomBytes(n int, seed uint64) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(out) // never fails
	return out
}

func scripted(data []byte) (*Conn, *script) {
	s := &script{in: bytes.NewReader(data)}
	return New(s, "dn:1", time.Second), s
}

func located(size int) *pb.LocatedBlock {
	e := &pb.ExtendedBlock{}
	e.SetPoolId("BP-1")
	e.SetBlockId(7)
	e.SetGenerationStamp(1)
	e.SetNumBytes(uint64(size))
	tok := &pb.Token{}
	tok.SetIdentifier([]byte{})
	tok.SetPassword([]byte{})
	tok.SetKind("")
	tok.SetService("")
	b := &pb.LocatedBlock{}
	b.SetB(e)
	b.SetOffset(0)
	b.SetCorrupt(false)
	b.SetBlockToken(tok)
	return b
}

// dataNode says what a DataNode answers to a request for a part of a block.
type dataNode struct {
	data   []byte // the block
	kind   pb.ChecksumType
	chunk  int
	packet int // chunks in a packet
}

func (d dataNode) answer(offset, length int) []byte {
	start := offset / d.chunk * d.chunk
	end := min((offset+length+d.chunk-1)/d.chunk*d.chunk, len(d.data))
	sum := &pb.Checksum{}
	sum.SetType(d.kind)
	sum.SetBytesPerChecksum(uint32(d.chunk))
	info := &pb.ReadOpChecksumInfo{}
	info.SetChecksum(sum)
	info.SetChunkOffset(uint64(start))
	resp := &pb.BlockOpResponse{}
	resp.SetStatus(pb.Status_STATUS_SUCCESS)
	resp.SetReadOpChecksumInfo(info)
	out, err := appendDelimited(nil, resp)
	if err != nil {
		panic(err)
	}
	seq := int64(0)
	for ; start < end; seq++ {
		n := min(d.packet*d.chunk, end-start)
		out = d.appendPacket(out, seq, start, d.data[start:start+n])
		start += n
	}
	return d.appendPacket(out, seq, start, nil)
}

func (d dataNode) appendPacket(out []byte, seq int64, offset int, data []byte) []byte {
	h := &pb.PacketHeader{}
	h.SetSeqno(seq)
	h.SetOffsetInBlock(int64(offset))
	h.SetDataLen(int32(len(data)))
	h.SetLastPacketInBlock(len(data) == 0)
	header, err := proto.Marshal(h)
	if err != nil {
		panic(err)
	}
	var sums []byte
	table := map[pb.ChecksumType]*crc32.Table{
		pb.ChecksumType_CHECKSUM_CRC32: crc32.IEEETable, pb.ChecksumType_CHECKSUM_CRC32C: crc32.MakeTable(crc32.Castagnoli),
	}[d.kind]
	for rest := data; table != nil && len(rest) > 0; {
		n := min(d.chunk, len(rest))
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(rest[:n], table))
		rest = rest[n:]
	}
	out = binary.BigEndian.AppendUint32(out, uint32(4+len(sums)+len(data)))
	out = binary.BigEndian.AppendUint16(out, uint16(len(header)))
	return append(append(append(out, header...), sums...), data...)
}

// Any part of any block comes out as it went in, whatever the sizes of chunks, packets and reads, and one connection
// serves part after part.
func TestPartsOfBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dataNode{
			data:   randomBytes(rapid.IntRange(1, 5000).Draw(t, "size"), 1),
			kind:   rapid.SampledFrom([]pb.ChecksumType{pb.ChecksumType_CHECKSUM_NULL, pb.ChecksumType_CHECKSUM_CRC32, pb.ChecksumType_CHECKSUM_CRC32C}).Draw(t, "kind"),
			chunk:  rapid.IntRange(1, 600).Draw(t, "chunk"),
			packet: rapid.IntRange(1, 5).Draw(t, "chunks in a packet"),
		}
		type part struct{ offset, length int }
		var parts []part
		var said []byte
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			p := part{offset: rapid.IntRange(0, len(d.data)-1).Draw(t, "offset")}
			p.length = rapid.IntRange(1, len(d.data)-p.offset).Draw(t, "length")
			parts = append(parts, p)
			said = append(said, d.answer(p.offset, p.length)...)
		}
		c, s := scripted(said)
		for i, p := range parts {
			if i > 0 && !c.Reusable() {
				t.Fatal("the connection can't be used again")
			}
			if err := c.Request(located(len(d.data)), "me", int64(p.offset), int64(p.length)); err != nil {
				t.Fatal(err)
			}
			var got []byte
			buf := make([]byte, rapid.IntRange(1, 2000).Draw(t, "read"))
			for !c.Finished() {
				n, err := c.Read(buf)
				if err != nil || n == 0 {
					t.Fatalf("%d bytes, %v", n, err)
				}
				got = append(got, buf[:n]...)
			}
			if !bytes.Equal(got, d.data[p.offset:p.offset+p.length]) {
				t.Fatalf("part %+v is different", p)
			}
			if _, err := c.Read(buf); err != io.EOF {
				t.Fatalf("behind the end: %v", err)
			}
		}
		if s.out.Len() == 0 {
			t.Fatal("nothing was asked for")
		}
	})
}

// A wrong bit in data or checksum is found before any byte of its packet is handed out.
func TestWrongBitsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dataNode{data: randomBytes(3000, 2), kind: pb.ChecksumType_CHECKSUM_CRC32C, chunk: 512, packet: 2}
		said := d.answer(0, len(d.data))
		bit := rapid.IntRange(0, 8*len(said)-1).Draw(t, "bit")
		said[bit/8] ^= 1 << (bit % 8)
		c, _ := scripted(said)
		if c.Request(located(len(d.data)), "me", 0, int64(len(d.data))) != nil {
			return
		}
		var got []byte
		buf := make([]byte, 700)
		for !c.Finished() {
			n, err := c.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.HasPrefix(d.data, got) {
			t.Fatal("wrong bytes were handed out")
		}
	})
}

func TestRefusals(t *testing.T) {
	resp := &pb.BlockOpResponse{}
	resp.SetStatus(pb.Status_STATUS_ERROR_ACCESS_TOKEN)
	resp.SetMessage("no")
	said, err := appendDelimited(nil, resp)
	if err != nil {
		t.Fatal(err)
	}
	for what, said := range map[string][]byte{"refused": said, "closed": nil, "cut": said[:3]} {
		c, _ := scripted(said)
		if err := c.Request(located(10), "me", 0, 10); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func FuzzConn(f *testing.F) {
	// Small ones: the fuzzer tries to leave out each run of bytes of what it finds interesting, for a minute each.
	d := dataNode{data: randomBytes(60, 3), kind: pb.ChecksumType_CHECKSUM_CRC32C, chunk: 16, packet: 2}
	f.Add(d.answer(0, 60))
	f.Add(d.answer(20, 30))
	d.kind = pb.ChecksumType_CHECKSUM_NULL
	f.Add(d.answer(0, 10))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, said []byte) {
		c, _ := scripted(said)
		if c.Request(located(60), "me", 20, 30) != nil {
			return
		}
		total := 0
		buf := make([]byte, 100)
		for {
			n, err := c.Read(buf)
			total += n
			if err != nil {
				break
			}
		}
		if total > 30 {
			t.Fatalf("%d bytes were handed out of 30", total)
		}
		c.Reusable()
		if cap(c.packet) > 2*len(said)+maxPacketData {
			t.Fatalf("a buffer of %d bytes for %d", cap(c.packet), len(said))
		}
	})
}

func BenchmarkConn(b *testing.B) {
	d := dataNode{data: randomBytes(1<<20, 4), kind: pb.ChecksumType_CHECKSUM_CRC32C, chunk: 512, packet: 126}
	said := d.answer(0, len(d.data))
	buf := make([]byte, 128<<10)
	b.SetBytes(int64(len(d.data)))
	b.ReportAllocs()
	for b.Loop() {
		c, _ := scripted(said)
		if err := c.Request(located(len(d.data)), "me", 0, int64(len(d.data))); err != nil {
			b.Fatal(err)
		}
		for !c.Finished() {
			if _, err := c.Read(buf); err != nil {
				b.Fatal(err)
			}
		}
	}
}
