package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/internal/light"
	"heddle/yarn/ipc/packet"
	"heddle/yarn/pb"
)

// clientConn is a connection to a server. Its goroutine connects, and then reads responses.
type clientConn struct {
	client *Client
	key    connKey
	who    Identity

	ready      chan struct{} // closed when connecting has succeeded or failed
	connectErr error         // valid once ready is closed

	nc  net.Conn
	in  packet.Reader
	out packet.Outbox

	used atomic.Uint64 // calls made

	mu        sync.Mutex
	calls     map[int32]*clientCall // calls that wait for a response
	connected bool
	err       error // the reason why the connection has ended

	// These belong to the sweeper.
	lastActivity uint64
	lastChange   time.Time
}

// clientCall waits for a response.
type clientCall struct {
	method Method
	resp   proto.Message
	err    error
	done   chan struct{} // of capacity 1
	timer  *time.Timer
}

func (c *Client) newCall(m Method, resp proto.Message) *clientCall {
	call, ok := c.calls.Get().(*clientCall)
	if !ok {
		call = &clientCall{done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		call.timer.Stop()
	}
	call.method, call.resp, call.err = m, resp, nil
	return call
}

// free reuses a call that isn't waited for and is in no connection's table.
func (c *Client) free(call *clientCall) {
	call.timer.Stop()
	call.resp, call.err = nil, nil
	c.calls.Put(call)
}

// finish wakes the caller. Only the goroutine that removed the call from the connection's table calls it.
func (c *clientCall) finish(err error) {
	c.err = err
	c.done <- struct{}{}
}

func (c *clientConn) run() {
	defer c.client.wg.Done()
	err := c.connect()
	c.mu.Lock()
	if err == nil && c.err != nil { // Close came in between
		err = c.err
		c.shut(err)
	}
	c.connected, c.lastChange = err == nil, time.Now()
	c.mu.Unlock()
	if err != nil {
		c.connectErr = err
		c.client.drop(c)
		close(c.ready)
		return
	}
	close(c.ready)
	for err == nil {
		err = c.readOne()
	}
	c.fail(err)
	c.out.Join()
}

// connect dials, authenticates and sends the connection context. A server doesn't answer a correct context.
func (c *clientConn) connect() error {
	cfg := &c.client.cfg
	ctx, cancel := context.WithTimeout(c.client.ctx, cfg.ConnectTimeout)
	defer cancel()
	nc, err := cfg.Dial(ctx, "tcp", c.key.addr)
	if err != nil {
		return connectError(ctx, err)
	}
	// Close the connection if the client is closed before anything reads from it.
	nc = light.Conn(nc)
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	c.nc = nc
	c.in.R, c.in.Max = bufio.NewReaderSize(nc, packet.ReadBuffer), cfg.MaxResponseLength
	c.out.Init(nc, cfg.WriteTimeout)
	names, err := c.authenticate(ctx)
	if err == nil {
		err = c.sendContext(names)
	}
	if err != nil {
		c.shut(err)
		c.out.Join()
		return connectError(ctx, err)
	}
	return nil
}

// connectError replaces the error of an attempt that took too long by ErrConnectTimeout.
func connectError(ctx context.Context, err error) error {
	if ctx.Err() == context.DeadlineExceeded {
		return ErrConnectTimeout
	}
	if ctx.Err() != nil {
		return ErrClientClosed
	}
	return err
}

func (c *clientConn) sendContext(names bool) error {
	info := &pb.UserInformation{}
	if names {
		if c.who.User != "" {
			info.SetEffectiveUser(c.who.User)
		}
		if c.who.RealUser != "" && c.who.Kerberos == nil { // by Kerberos the server knows it
			info.SetRealUser(c.who.RealUser)
		}
	}
	m := &pb.IpcConnectionContext{}
	m.SetUserInfo(info)
	m.SetProtocol(c.key.protocol)
	return c.sendMessage(callContext, c.client.id, m)
}

// sendMessage sends an out-of-band message. A nil message sends the header alone, as a ping does.
func (c *clientConn) sendMessage(callID int32, clientID string, m proto.Message) error {
	size := 0
	if m != nil {
		size = proto.Size(m)
	}
	buf := packet.NewBuffer(64 + len(clientID) + size)
	b := appendRequestHeader(packet.Start(buf.B), callID, noRetryCount, clientID, "")
	if m != nil {
		var err error
		if b, err = appendMessage(b, m, size); err != nil {
			return err
		}
	}
	buf.B = packet.End(b, 0)
	return c.out.Send(buf, 0)
}

// register enters a call into the table, so that its response finds it. Pass since, a count of packets read, to await.
func (c *clientConn) register(id int32, call *clientCall) (since uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if c.calls[id] != nil { // ids have wrapped around, and this one is still in use
		return 0, fmt.Errorf("call id %d is in use", id)
	}
	c.calls[id] = call
	c.used.Add(1)
	return c.in.Activity.Load(), nil
}

// forget removes a call from the table. It returns false if the call is being finished already.
func (c *clientConn) forget(id int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.calls[id]
	delete(c.calls, id)
	return ok
}

func (c *clientConn) send(id int32, m Method, req proto.Message) error {
	const headerRoom = 192
	cfg := &c.client.cfg
	size := proto.Size(req)
	buf := packet.NewBuffer(headerRoom + len(cfg.CallerContext) + size)
	b := appendRequestHeader(packet.Start(buf.B), id, 0, c.client.id, cfg.CallerContext)
	b = appendCallHeader(b, m)
	b, err := appendMessage(b, req, size)
	if err != nil {
		return err
	}
	buf.B = packet.End(b, 0)
	return c.out.Send(buf, 0)
}

// await waits for the end of a call.
func (c *clientConn) await(ctx context.Context, id int32, call *clientCall, since uint64) error {
	var expired <-chan time.Time
	if t := c.client.cfg.CallTimeout; t > 0 {
		call.timer.Reset(t)
		expired = call.timer.C
	}
	var early error
	select {
	case <-call.done:
	case <-ctx.Done():
		early = fmt.Errorf("%s of %s: %w", call.method.Name, c.key.addr, ctx.Err())
	case <-expired:
		early = &ConnError{c.key.addr, call.method.Name, true, ErrCallTimeout}
		if c.in.Activity.Load() == since { // the server has sent nothing at all: it is gone
			defer c.fail(ErrCallTimeout)
		}
	}
	if early != nil {
		if c.forget(id) {
			c.client.free(call)
			return early
		}
		<-call.done // the response arrived just now
	}
	err := call.err
	c.client.free(call)
	return err
}

// readOne reads a response and gives it to its call.
func (c *clientConn) readOne() error {
	raw, owner, err := c.in.Next()
	if err != nil {
		return err
	}
	if owner != nil {
		defer owner.Free()
	}
	h, body, err := c.parseHeader(raw)
	if err != nil {
		return err
	}
	c.mu.Lock()
	call := c.calls[h.callID]
	delete(c.calls, h.callID)
	c.mu.Unlock()
	if h.status != pb.RpcResponseHeader_SUCCESS {
		e := c.remoteError(h)
		if call != nil {
			e.Method = call.method.Name
			call.finish(e)
		}
		if !e.Fatal {
			return nil
		}
		other := *e
		other.Method = ""
		return &other
	}
	if call == nil { // the caller has given up
		return nil
	}
	b, _, err := delimited(body)
	if err == nil {
		err = unmarshal(b, call.resp)
	}
	if err != nil {
		err = &ConnError{c.key.addr, call.method.Name, true, fmt.Errorf("response: %w", err)}
	}
	call.finish(err)
	return nil
}

func (c *clientConn) parseHeader(raw []byte) (*responseHeader, []byte, error) {
	var h responseHeader
	b, rest, err := delimited(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("response header: %w", err)
	}
	clientID, err := h.parse(b)
	if err != nil {
		return nil, nil, fmt.Errorf("response header: %w", err)
	}
	if len(clientID) > 0 && string(clientID) != c.client.id {
		return nil, nil, errors.New("response to a call of another client")
	}
	return &h, rest, nil
}

func (c *clientConn) remoteError(h *responseHeader) *RemoteError {
	class := h.class
	if class == "" {
		class = IOException
	}
	return &RemoteError{
		Class: class, Text: h.text, Detail: h.detail, Addr: c.key.addr,
		Fatal: h.status == pb.RpcResponseHeader_FATAL,
	}
}

// shut closes the socket.
func (c *clientConn) shut(err error) {
	c.out.Fail(err)
	_ = c.nc.Close()
}

// fail ends the connection. All calls without a response fail with err.
func (c *clientConn) fail(err error) {
	c.client.drop(c)
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	calls, connected := c.calls, c.connected
	c.calls = nil
	c.mu.Unlock()
	if !connected {
		return // run notices
	}
	c.shut(err)
	for _, call := range calls {
		call.finish(c.callError(call, err))
	}
}

func (c *clientConn) callError(call *clientCall, err error) error {
	if r := (*RemoteError)(nil); errors.As(err, &r) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("connection closed by the server: %w", err)
	}
	return &ConnError{c.key.addr, call.method.Name, true, err}
}

// tick pings a quiet server and closes an idle connection. The sweeper calls it.
func (c *clientConn) tick(now time.Time) {
	select {
	case <-c.ready:
	default:
		return
	}
	cfg := &c.client.cfg
	activity := c.in.Activity.Load() + c.used.Load()
	c.mu.Lock()
	if activity != c.lastActivity {
		c.lastActivity, c.lastChange = activity, now
	}
	quiet, waiting, ended := now.Sub(c.lastChange), len(c.calls) > 0, c.err != nil
	if !ended && !waiting && quiet > cfg.MaxIdle {
		c.err = errIdle // register refuses calls from here on
	}
	if waiting && quiet > cfg.PingInterval {
		c.lastChange = now // until the next ping
	}
	idle := c.err == errIdle
	c.mu.Unlock()
	switch {
	case ended:
	case idle:
		c.fail(errIdle)
	case waiting && quiet > cfg.PingInterval:
		_ = c.sendMessage(callPing, c.client.id, nil) // if it fails, the connection ends
	}
}

var errIdle = errors.New("connection was idle")
