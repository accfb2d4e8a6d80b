// Package block reads blocks from DataNodes.
package block

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
)

// HDFS's data transfer protocol (Hadoop: DataTransferProtocol, PacketReceiver).
const (
	transferVersion = 28
	opReadBlock     = 81

	maxPacketHeader = 1 << 10  // bytes; usual ones have 25
	maxPacketData   = 16 << 20 // bytes; Hadoop's own limit
	maxResponse     = 1 << 20  // bytes of a response
	maxChunk        = 1 << 20  // bytes that one checksum covers; usually 512

	lastPacketWait = time.Second
)

// ErrChecksum says that data doesn't match its checksum.
var ErrChecksum = errors.New("checksum error: the replica is corrupt")

// Conn is a connection to a DataNode. It reads parts of blocks one after the other. It verifies the checksum of
// every byte before it returns it.
type Conn struct {
	conn    net.Conn
	in      *bufio.Reader
	Addr    string // of the DataNode
	timeout time.Duration
	Used    time.Time // when data last arrived

	// The part being read; offsets count from the beginning of the block.
	sums   *crc32.Table // nil: the block has no checksums
	chunk  int          // bytes that one checksum covers
	pos    int64        // offset of the next byte to return
	end    int64        // end of the part
	next   int64        // offset of the next packet
	seq    int64        // number of the next packet
	ready  []byte       // verified bytes from pos on
	packet []byte       // buffer of ready
	ended  bool         // the last packet was received and answered: another request may follow

	Unhook func() bool // ends the connection's dependence on a context
}

// New returns a connection that has asked for nothing yet. timeout limits each send and receive.
func New(conn net.Conn, addr string, timeout time.Duration) *Conn {
	return &Conn{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), Addr: addr, timeout: timeout}
}

// Close closes the connection.
func (c *Conn) Close() {
	if c.Unhook != nil {
		c.Unhook()
	}
	_ = c.conn.Close() // no data is lost
}

// Request asks for length bytes of a block from offset on. The connection must be new or reusable.
func (c *Conn) Request(b *pb.LocatedBlock, client string, offset, length int64) error {
	base := &pb.BaseHeader{}
	base.SetBlock(b.GetB())
	base.SetToken(b.GetBlockToken())
	header := &pb.ClientOperationHeader{}
	header.SetBaseHeader(base)
	header.SetClientName(client)
	op := &pb.OpReadBlock{}
	op.SetHeader(header)
	op.SetOffset(uint64(offset))
	op.SetLen(uint64(length))
	out := binary.BigEndian.AppendUint16(nil, transferVersion)
	out = append(out, opReadBlock)
	out, err := appendDelimited(out, op)
	if err != nil {
		return err
	}
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(out); err != nil {
		return err
	}
	resp := &pb.BlockOpResponse{}
	if err := (protodelim.UnmarshalOptions{MaxSize: maxResponse}).UnmarshalFrom(c.in, resp); err != nil {
		return noEOF(err)
	}
	if resp.GetStatus() != pb.Status_STATUS_SUCCESS {
		return fmt.Errorf("the DataNode refused the request: %v %s", resp.GetStatus(), resp.GetMessage())
	}
	return c.begin(resp.GetReadOpChecksumInfo(), offset, length)
}

// begin prepares for the packets after a response.
func (c *Conn) begin(info *pb.ReadOpChecksumInfo, offset, length int64) error {
	sum := info.GetChecksum()
	switch sum.GetType() {
	case pb.ChecksumType_CHECKSUM_NULL:
		c.sums = nil
	case pb.ChecksumType_CHECKSUM_CRC32:
		c.sums = crc32.IEEETable
	case pb.ChecksumType_CHECKSUM_CRC32C:
		c.sums = crc32.MakeTable(crc32.Castagnoli)
	default:
		return fmt.Errorf("unknown kind of checksum %d", sum.GetType())
	}
	chunk := int64(sum.GetBytesPerChecksum())
	start := int64(info.GetChunkOffset())
	if c.sums != nil && (chunk < 1 || chunk > maxChunk) {
		return fmt.Errorf("the DataNode claims that one checksum covers %d bytes, which is invalid", chunk)
	}
	if start < 0 || start > offset {
		return fmt.Errorf("the DataNode sends bytes from offset %[2]d instead of %[1]d", offset, start)
	}
	c.chunk, c.pos, c.end, c.next = int(chunk), offset, offset+length, start
	c.seq, c.ready, c.ended = 0, nil, false
	return nil
}

// Read returns at least one byte of the part, or io.EOF at its end. After another error the connection can't be used
// again.
func (c *Conn) Read(p []byte) (int, error) {
	for len(c.ready) == 0 {
		if c.Finished() {
			return 0, io.EOF
		}
		if err := c.receive(); err != nil {
			return 0, noEOF(err)
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	c.pos += int64(n)
	return n, nil
}

// Finished reports whether read has returned all of the part.
func (c *Conn) Finished() bool { return c.pos == c.end }

// Reusable reports whether another request may follow. The last packet, which has no data, should have arrived by now.
func (c *Conn) Reusable() bool {
	if !c.Finished() || c.ended {
		return c.ended
	}
	defer func(d time.Duration) { c.timeout = d }(c.timeout)
	c.timeout = min(c.timeout, lastPacketWait)
	return c.receive() == nil && c.ended
}

// receive reads the next packet and verifies it. It consists of its length without the header's (4 bytes, which count
// themselves), the header's length (2 bytes), the header, checksums and data.
func (c *Conn) receive() error {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	var lengths [6]byte
	if _, err := io.ReadFull(c.in, lengths[:]); err != nil {
		return err
	}
	c.Used = time.Now()
	if c.ended {
		return errors.New("a packet follows the last one")
	}
	payload, headerLen := int64(binary.BigEndian.Uint32(lengths[:])), int(binary.BigEndian.Uint16(lengths[4:]))
	if headerLen > maxPacketHeader || payload > 2*maxPacketData {
		return fmt.Errorf("a packet of %d bytes with a header of %d is invalid", payload, headerLen)
	}
	c.grow(headerLen)
	if _, err := io.ReadFull(c.in, c.packet); err != nil {
		return err
	}
	h := &pb.PacketHeader{}
	if err := proto.Unmarshal(c.packet, h); err != nil {
		return fmt.Errorf("the header of a packet: %w", err)
	}
	data := int(h.GetDataLen())
	if data < 0 || data > maxPacketData {
		return fmt.Errorf("a packet with %d bytes of data is invalid", data)
	}
	sums := 0
	if c.sums != nil {
		sums = (data + c.chunk - 1) / c.chunk * crc32.Size
	}
	switch {
	case payload != int64(4+sums+data):
		return fmt.Errorf("a packet of %d bytes claims %d bytes of data", payload, data)
	case h.GetSeqno() != c.seq:
		return fmt.Errorf("packet %d arrived instead of %d", h.GetSeqno(), c.seq)
	case data > 0 && h.GetOffsetInBlock() != c.next:
		return fmt.Errorf("a packet starts at offset %d instead of %d", h.GetOffsetInBlock(), c.next)
	}
	c.seq++
	if h.GetLastPacketInBlock() {
		if data > 0 {
			return errors.New("the last packet has data")
		}
		return c.finish()
	}
	if data == 0 {
		return errors.New("a packet without data is not the last one")
	}
	c.grow(sums + data)
	if _, err := io.ReadFull(c.in, c.packet); err != nil {
		return err
	}
	if err := c.verify(c.packet[:sums], c.packet[sums:]); err != nil {
		return err
	}
	c.take(c.packet[sums:])
	return nil
}

func (c *Conn) grow(n int) {
	if cap(c.packet) < n {
		c.packet = make([]byte, n)
	}
	c.packet = c.packet[:n]
}

func (c *Conn) verify(sums, data []byte) error {
	if c.sums == nil {
		return nil
	}
	for ; len(data) > 0; sums = sums[crc32.Size:] {
		n := min(c.chunk, len(data))
		if crc32.Checksum(data[:n], c.sums) != binary.BigEndian.Uint32(sums) {
			return ErrChecksum
		}
		data = data[n:]
	}
	return nil
}

// take keeps those bytes of a packet that were asked for. A DataNode sends whole chunks.
func (c *Conn) take(data []byte) {
	from := c.next
	c.next += int64(len(data))
	lo, hi := min(max(c.pos-from, 0), int64(len(data))), min(max(c.end-from, 0), int64(len(data)))
	if lo < hi {
		c.ready = data[lo:hi]
	}
}

// finish acknowledges the data. The DataNode then waits for another request.
func (c *Conn) finish() error {
	if c.pos+int64(len(c.ready)) != c.end {
		return fmt.Errorf("the DataNode stopped %d bytes before the end", c.end-c.pos)
	}
	status := pb.Status_STATUS_SUCCESS
	if c.sums != nil {
		status = pb.Status_STATUS_CHECKSUM_OK
	}
	m := &pb.ClientReadStatus{}
	m.SetStatus(status)
	out, err := appendDelimited(nil, m)
	if err != nil {
		return err
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(out); err != nil {
		return err
	}
	c.ended = true
	return nil
}

func appendDelimited(b []byte, m proto.Message) ([]byte, error) {
	body, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(binary.AppendUvarint(b, uint64(len(body))), body...), nil
}

// noEOF replaces the end of a connection by an error that readers don't take for the end of the file.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
