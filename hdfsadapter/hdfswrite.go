package hdfsadapter

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"

	"heddle/hdfsadapter/javafs"
	"heddle/hdfsadapter/relay"
	"heddle/hdfsadapter/zone"
	"heddle/yarn/pb"
)

func (s *hdfsStore) create(ctx context.Context, name string, o CreateOptions) (Writer, error) {
	c := s.a.conf
	if o.Replication == 0 {
		o.Replication = c.Int("dfs.replication")
	}
	if o.BlockSize == 0 {
		o.BlockSize = c.Size("dfs.blocksize")
	}
	if o.BlockSize < 512 || o.BlockSize%512 != 0 || o.Replication < 1 {
		return nil, fs.ErrInvalid
	}
	if o.Perm == 0 {
		o.Perm = 0o666 &^ s.a.umask
	}
	// This call also finds the active NameNode. The library has less patience for that.
	switch st, err := s.stat(ctx, name); {
	case err == nil && st.IsDir():
		return nil, syscall.EISDIR
	case err == nil && !o.Overwrite:
		return nil, fs.ErrExist
	case err == nil:
		if err := s.remove(ctx, name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	open := func(c *hdfs.Client) (*hdfs.FileWriter, error) {
		return c.CreateFile(name, o.Replication, o.BlockSize, os.FileMode(javafs.Bits(o.Perm)))
	}
	w := s.writer(ctx, open)
	err := w.start()
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.mkdirs(ctx, path.Dir(name), 0o777&^s.a.umask); err == nil {
			err = w.start()
		}
	}
	if err != nil && classOf(err) == unknownCryptoProtocol { // by the library's own connection
		w.zone = true
		err = w.start()
	}
	if err != nil {
		w.end()
		if w.encryption.Load() != nil { // it was made, and can't be written
			err = errors.Join(err, s.remove(ctx, name, false))
		}
		return nil, err
	}
	w.restart = func() error {
		w.disconnect()
		if err := s.remove(w.ctx, name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return w.start()
	}
	return w, nil
}

func (s *hdfsStore) append(ctx context.Context, name string) (Writer, error) {
	st, err := s.status(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case st.GetFileType() == pb.HdfsFileStatus_IS_DIR:
		return nil, syscall.EISDIR
	}
	w := s.writer(ctx, func(c *hdfs.Client) (*hdfs.FileWriter, error) { return c.Append(name) })
	w.length = clamp(st.GetLength())
	w.encryption.Store(st)
	if err := w.start(); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

func (s *hdfsStore) writer(ctx context.Context, open func(*hdfs.Client) (*hdfs.FileWriter, error)) *hdfsWriter {
	w := &hdfsWriter{s: s, open: open}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.unhook = context.AfterFunc(s.a.ctx, func() { w.cancel(errClosed) })
	return w
}

// hdfsWriter is a file being written. It has a client of the library for itself. With the file end the client, the
// renewal of the lease, and all connections.
type hdfsWriter struct {
	s       *hdfsStore
	ctx     context.Context
	cancel  context.CancelCauseFunc
	unhook  func() bool
	open    func(*hdfs.Client) (*hdfs.FileWriter, error)
	restart func() error // begins the file again; nil if that isn't possible

	conns   *relay.Connections
	release func() bool // releases conns from ctx
	client  *hdfs.Client
	file    *hdfs.FileWriter

	token atomic.Pointer[pb.Token] // of the block that is written, with security

	zone       bool                              // the NameNode wants a client that knows encryption zones
	encryption atomic.Pointer[pb.HdfsFileStatus] // says how the file is encrypted
	cipher     *zone.Cipher                      // nil outside encryption zones
	length     int64                             // bytes that the file has at start
	pos        int64                             // where the next bytes go, in a zone
	cover      []byte                            // encrypted bytes

	failed error // error of an earlier Write or Flush
	closed bool
}

// setupTries is how often to begin a file if the DataNodes for its first block don't answer. For some time the NameNode
// keeps offering a DataNode that has died.
const setupTries = 8

const (
	unknownCryptoProtocol = "org.apache.hadoop.hdfs.UnknownCryptoProtocolVersionException"
	coverSize             = 64 << 10 // bytes that are encrypted at once
)

// start opens the file with a new client.
func (w *hdfsWriter) start() (err error) {
	w.conns = relay.NewConnections()
	w.release = context.AfterFunc(w.ctx, w.conns.Close)
	// The library tries the addresses in their order. So begin with the active one, which is usually known.
	addrs := slices.Clone(w.s.addrs)
	if i := slices.Index(addrs, w.s.nn.Current()); i > 0 {
		addrs[0], addrs[i] = addrs[i], addrs[0]
	}
	data := w.s.a.data
	nameNode, dataNode := w.conns.Dialer(w.ctx, data.timeout), w.conns.Dialer(w.ctx, data.timeout)
	if w.s.secured() || w.zone {
		addrs = addrs[:1] // the relay knows the others
		nameNode = w.relayed()
	}
	if w.s.secured() {
		dataNode = w.protected(dataNode)
	}
	w.client, err = hdfs.NewClient(hdfs.ClientOptions{
		Addresses:           addrs,
		User:                w.s.user,
		UseDatanodeHostname: data.byName,
		NamenodeDialFunc:    relay.Patient(w.ctx, nameNode),
		DatanodeDialFunc:    dataNode,
	})
	if err == nil {
		w.file, err = w.open(w.client)
	}
	if st := w.encryption.Load(); err == nil && st != nil {
		w.pos = w.length
		w.cipher, err = w.s.cipher(w.ctx, st)
	}
	if err != nil {
		w.disconnect()
	}
	return w.reason(err)
}

// relayed returns a dial function for the library that has this package's own client call NameNodes: the library knows no tokens.
func (w *hdfsWriter) relayed() relay.Dialer {
	conns := w.conns
	return func(context.Context, string, string) (net.Conn, error) {
		return conns.Add(relay.New(w.ctx, w.s.nn, w.seen), w.s.a.data.timeout)
	}
}

// seen looks for the tokens of blocks, and how a new file is encrypted, in a NameNode's answers. It makes the library leave the security of data to us.
func (w *hdfsWriter) seen(method string, answer []byte) []byte {
	switch method {
	case "addBlock", "append", "updateBlockForPipeline":
		m := &pb.BlockToWrite{}
		if proto.Unmarshal(answer, m) == nil && m.HasBlock() {
			w.token.Store(m.GetBlock().GetBlockToken())
		}
	case "create":
		m := &pb.GetFileInfoResponse{} // which has the same field
		if proto.Unmarshal(answer, m) == nil && m.GetFs().HasFileEncryptionInfo() {
			w.encryption.Store(m.GetFs())
		}
	case "getServerDefaults":
		m := &pb.GetServerDefaultsResponse{}
		if proto.Unmarshal(answer, m) != nil {
			break
		}
		m.GetServerDefaults().SetEncryptDataTransfer(false)
		if b, err := proto.Marshal(m); err == nil {
			return b
		}
	}
	return answer
}

// protected returns a dial function for connections to DataNodes that prove who writes the block.
func (w *hdfsWriter) protected(dial relay.Dialer) relay.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		protected, err := w.s.protect(w.ctx, conn, addr, w.token.Load())
		if err != nil {
			_ = conn.Close()
		}
		return protected, err
	}
}

// disconnect releases what start acquired, without completing the file.
func (w *hdfsWriter) disconnect() {
	if w.conns == nil {
		return
	}
	w.release()
	w.conns.Close()
	if w.file != nil {
		_ = w.file.Close() // fails without connections, but ends the library's goroutines
	}
	if w.client != nil {
		_ = w.client.Close() // its error doesn't matter
	}
	w.conns, w.client, w.file = nil, nil, nil
}

// reason returns the error of ctx instead of its consequences.
func (w *hdfsWriter) reason(err error) error {
	if cause := context.Cause(w.ctx); err != nil && cause != nil {
		return cause
	}
	return fromHDFS(err)
}

func (w *hdfsWriter) check() error {
	if w.closed {
		return fs.ErrClosed
	}
	if w.failed != nil {
		return w.failed
	}
	w.failed = context.Cause(w.ctx)
	return w.failed
}

func (w *hdfsWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil // the library would begin a block, and can't complete an empty one
	}
	n, err := w.put(p)
	for try := 1; err != nil && w.restart != nil && try < setupTries && w.ctx.Err() == nil; try++ {
		w.s.a.options.Log.WithError(err).Warn("can't write the first block to HDFS; beginning the file again")
		if restartErr := w.restart(); restartErr != nil {
			err = errors.Join(err, restartErr)
			break
		}
		n, err = w.put(p)
	}
	w.restart = nil // beginning again would lose what was written
	w.failed = w.reason(err)
	return n, w.failed
}

// put gives bytes to the library, encrypted in a zone.
func (w *hdfsWriter) put(p []byte) (n int, err error) {
	if w.cipher == nil {
		return w.file.Write(p)
	}
	for n < len(p) && err == nil {
		w.cover = append(w.cover[:0], p[n:min(len(p), n+coverSize)]...)
		w.cipher.XOR(w.cover, w.pos)
		var k int
		k, err = w.file.Write(w.cover)
		n += k
		w.pos += int64(k)
	}
	return n, err
}

func (w *hdfsWriter) Flush() error {
	if err := w.check(); err != nil {
		return err
	}
	w.failed = w.reason(w.file.Flush())
	return w.failed
}

func (w *hdfsWriter) Close() error {
	if w.closed {
		return fs.ErrClosed
	}
	err := w.check()
	w.closed = true
	if err == nil {
		err = w.reason(w.file.Close())
	}
	w.end()
	return err
}

// end releases everything. An incomplete file stays incomplete: it must not look whole.
func (w *hdfsWriter) end() {
	w.unhook()
	w.disconnect()
	w.cancel(fs.ErrClosed)
}
