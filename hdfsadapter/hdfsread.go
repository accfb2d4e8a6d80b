package hdfsadapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"heddle/hdfsadapter/block"
	"heddle/hdfsadapter/position"
	"heddle/hdfsadapter/zone"
	"heddle/yarn/pb"
)

const (
	maxRounds     = 3       // tries of all replicas of a block without getting a byte
	blocksAhead   = 10      // blocks whose locations one call asks for
	minAhead      = 1 << 17 // bytes that a stream asks for when it is read further, doubled every time up to maxAhead
	maxAhead      = 1 << 40
	maxIdle       = 4 // streams of a file that are kept for further reads
	staleAfter    = 2 * time.Second
	firstWait     = 200 * time.Millisecond
	hangsAfter    = 2 * time.Second // a DataNode that has given nothing for so long when a reader gives up is no good
	flagCrypt     = uint32(pb.HdfsFileStatus_HAS_CRYPT)
	flagErasure   = uint32(pb.HdfsFileStatus_HAS_EC)
	whereEncoded  = "is erasure coded, which Heddle can't read"
	whereEncypted = "lies in an encryption zone: its text leaves HDFS for readers alone"
)

func (s *hdfsStore) open(ctx context.Context, name string, here bool) (Reader, error) {
	st, err := s.status(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case st.GetFileType() == pb.HdfsFileStatus_IS_DIR:
		return nil, syscall.EISDIR
	case st.GetFlags()&flagErasure != 0:
		return nil, errors.New(whereEncoded)
	case st.GetFlags()&flagCrypt != 0 && here:
		return nil, errors.New(whereEncypted)
	}
	r := &hdfsReader{s: s, path: name, info: infoOf(st), here: here, tried: map[replica]bool{}}
	if r.cipher, err = s.cipher(ctx, st); err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.unhook = context.AfterFunc(s.a.ctx, func() { r.cancel(errClosed) })
	// Only a user with the right to read may ask for the places of blocks. Open must report that, for an empty file as
	// well.
	if err := r.locate(0); err != nil {
		_ = r.Close() // no data is lost
		return nil, err
	}
	return r, nil
}

// hdfsReader is an open file. Several streams may read it at once, each over its own connection.
type hdfsReader struct {
	s      *hdfsStore
	path   string
	info   Info
	cipher *zone.Cipher // nil outside encryption zones
	here   bool         // only replicas on this host are read
	ctx    context.Context
	cancel context.CancelCauseFunc
	unhook func() bool
	pos    int64 // position of Read and Seek

	mu     sync.Mutex
	blocks []*pb.LocatedBlock // blocks known so far, by offset
	tried  map[replica]bool   // replicas that failed since the places of the blocks were asked for
	idle   []*stream          // the most recently used stream is the last one
}

// replica is a block on a DataNode.
type replica struct {
	block uint64
	addr  string
}

// stream reads a file from a position on.
type stream struct {
	pos   int64 // in the file
	ahead int64 // bytes to ask for next
	conn  *block.Conn
}

func (t *stream) drop() {
	if t.conn != nil {
		t.conn.Close()
		t.conn = nil
	}
}

func (r *hdfsReader) Info() Info { return r.info }

func (r *hdfsReader) Seek(off int64, whence int) (int64, error) {
	return position.Seek(&r.pos, r.info.Size, off, whence)
}

func (r *hdfsReader) Close() error {
	if context.Cause(r.ctx) == fs.ErrClosed {
		return fs.ErrClosed
	}
	r.unhook()
	r.cancel(fs.ErrClosed)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.idle {
		t.drop()
	}
	r.idle = nil
	return nil
}

func (r *hdfsReader) Read(p []byte) (int, error) {
	n, err := r.some(p, r.pos)
	r.pos += int64(n)
	return n, err
}

func (r *hdfsReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	n := 0
	for n < len(p) {
		k, err := r.some(p[n:], off+int64(n))
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// some reads at least one byte, from any replica that has it.
func (r *hdfsReader) some(p []byte, off int64) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= r.info.Size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.info.Size-off)]
	t := r.take(off)
	var failures []error
	for round := 0; ; {
		n, addr, err := r.advance(t, p)
		if err == nil {
			r.give(t)
			r.cipher.XOR(p[:n], off)
			return n, nil
		}
		t.drop()
		if cause := context.Cause(r.ctx); cause != nil {
			return 0, cause
		}
		if addr != "" { // try another replica
			failures = append(failures, fmt.Errorf("DataNode %s: %w", addr, err))
			continue
		}
		if round++; round >= maxRounds || r.here || !errors.Is(err, errNoReplica) {
			return 0, errors.Join(append(failures, err)...)
		}
		if err := r.forget(round); err != nil {
			return 0, errors.Join(append(failures, err)...)
		}
	}
}

// take returns an idle stream at the position, or a new one. A new one gets the connection of an idle stream whose part
// is finished.
func (r *hdfsReader) take(off int64) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, t := range slices.Backward(r.idle) {
		if t.pos == off {
			r.idle = slices.Delete(r.idle, i, i+1)
			return t
		}
	}
	fresh := &stream{pos: off}
	for i, t := range slices.Backward(r.idle) {
		if t.conn != nil && t.conn.Finished() {
			fresh.conn = t.conn
			r.idle = slices.Delete(r.idle, i, i+1)
			break
		}
	}
	return fresh
}

func (r *hdfsReader) give(t *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		t.drop()
		return
	}
	r.idle = append(r.idle, t)
	if len(r.idle) > maxIdle {
		r.idle[0].drop()
		r.idle = slices.Delete(r.idle, 0, 1)
	}
}

// errNoReplica says that there is no DataNode left to try.
var errNoReplica = errors.New("no replica could be read")

// advance reads from a stream. If the DataNode is at fault, it returns the DataNode's address, and won't try that
// again.
func (r *hdfsReader) advance(t *stream, p []byte) (n int, addr string, err error) {
	b, err := r.block(t.pos)
	if err != nil {
		return 0, "", err
	}
	began := time.Now()
	for {
		stale := t.conn != nil && time.Since(t.conn.Used) > staleAfter
		if t.conn == nil || t.conn.Finished() {
			if addr, err = r.connect(t, b, int64(len(p))); addr == "" {
				return 0, "", err
			}
		} else {
			addr = t.conn.Addr
		}
		if err == nil {
			n, err = t.conn.Read(p)
		}
		if err == nil {
			t.pos += int64(n)
			return n, "", nil
		}
		if !stale || r.ctx.Err() != nil {
			break
		}
		t.drop() // the DataNode may have closed an idle connection
		err = nil
	}
	if r.ctx.Err() != nil && time.Since(began) < hangsAfter { // the DataNode isn't at fault
		return 0, "", err
	}
	r.mu.Lock()
	r.tried[replica{b.GetB().GetBlockId(), addr}] = true
	r.mu.Unlock()
	if !errors.Is(err, block.ErrChecksum) {
		r.s.a.data.failed(addr)
	}
	r.s.a.options.Log.WithFields(map[string]any{"file": r.path, "block": b.GetB().GetBlockId(), "datanode": addr}).
		WithError(err).Warn("can't read a replica; trying another one")
	return 0, addr, err
}

// connect asks a DataNode for a part of a block from the stream's position on. It uses the stream's connection if that
// leads to the DataNode.
func (r *hdfsReader) connect(t *stream, b *pb.LocatedBlock, want int64) (addr string, err error) {
	offset := t.pos - clamp(b.GetOffset())
	left := clamp(b.GetB().GetNumBytes()) - offset
	length := min(left, max(want, t.ahead))
	t.ahead = min(max(2*t.ahead, minAhead), maxAhead)
	r.mu.Lock()
	addr = r.s.a.data.choose(b, func(id *pb.DatanodeID, addr string) bool {
		return r.here && id.GetHostName() != r.s.a.options.Host || r.tried[replica{b.GetB().GetBlockId(), addr}]
	})
	r.mu.Unlock()
	if addr == "" {
		return "", fmt.Errorf("%w of block %d", errNoReplica, b.GetB().GetBlockId())
	}
	if t.conn != nil && t.conn.Addr == addr && t.conn.Reusable() {
		if t.conn.Request(b, r.s.client, offset, length) == nil {
			return addr, nil
		}
	}
	t.drop()
	conn, err := r.s.a.data.dial(r.ctx, addr, func(c net.Conn) (net.Conn, error) { return r.s.protect(r.ctx, c, addr, b.GetBlockToken()) })
	if err != nil {
		return addr, err
	}
	t.conn = conn
	conn.Used = time.Now()
	return addr, conn.Request(b, r.s.client, offset, length)
}

// block returns the block at a position of the file. It asks the NameNode if it doesn't know the block's place.
func (r *hdfsReader) block(off int64) (*pb.LocatedBlock, error) {
	for asked := false; ; asked = true {
		r.mu.Lock()
		b := find(r.blocks, off)
		r.mu.Unlock()
		if b != nil {
			return b, nil
		}
		if asked {
			return nil, fmt.Errorf("the NameNode has no block at offset %d", off)
		}
		if err := r.locate(off); err != nil {
			return nil, err
		}
	}
}

// locate asks the NameNode for the places of some blocks from a position on.
func (r *hdfsReader) locate(off int64) error {
	length := blocksAhead * max(min(r.info.BlockSize, math.MaxInt64/blocksAhead), 1)
	located, err := r.s.located(r.ctx, r.path, off, max(min(length, r.info.Size-off), 1))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range located.GetBlocks() {
		if find(r.blocks, clamp(b.GetOffset())) == nil {
			r.blocks = append(r.blocks, b)
			slices.SortFunc(r.blocks, func(a, b *pb.LocatedBlock) int { return cmp.Compare(a.GetOffset(), b.GetOffset()) })
		}
	}
	return nil
}

// find returns the block at a position, or nil.
func find(blocks []*pb.LocatedBlock, off int64) *pb.LocatedBlock {
	i, _ := slices.BinarySearchFunc(blocks, off, func(b *pb.LocatedBlock, off int64) int {
		return cmp.Compare(clamp(b.GetOffset())+clamp(b.GetB().GetNumBytes()), off+1)
	})
	if i < len(blocks) && clamp(blocks[i].GetOffset()) <= off {
		return blocks[i]
	}
	return nil
}

// forget waits a moment, and then forgets the places of the blocks: by then the NameNode may know better ones.
func (r *hdfsReader) forget(round int) error {
	wait := time.NewTimer(firstWait << (2 * (round - 1)))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks = nil
	clear(r.tried)
	return nil
}
