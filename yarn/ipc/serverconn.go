package ipc

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc/packet"
	"heddle/yarn/kerberos"
	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

// lingerTime and lingerBytes bound what is read from a client after the last reply. Closing a socket with unread bytes
// resets the connection, and the client could lose that reply.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// serverConn is one client's connection. Its goroutine reads calls; other goroutines run them.
type serverConn struct {
	srv    *Server
	nc     net.Conn
	raw    *bufio.Reader // of nc
	in     packet.Reader
	out    packet.Outbox
	id     *Conn
	cancel context.CancelFunc
	log    *logrus.Entry

	// These belong to the reading goroutine.
	useSASL       bool // the client asked for it, and hasn't been switched to SIMPLE
	negotiated    bool // the methods have been sent
	digest        *sasl.Server
	gss           *kerberos.Server
	principal     string  // the peer that Kerberos has authenticated
	bearer        *Bearer // the bearer of the proved token
	identifier    []byte
	peer          *Peer
	protocolName  string // of the connection context
	hasContext    atomic.Bool
	clientID      string // the last one, since all calls have the same
	callerContext string // likewise
	handshakeLeft int    // bytes still allowed before the connection context

	tokens *packet.Opener // what protects the requests; nil: nothing

	long chan struct{} // holds an element while a long reply to this client is built or waits for that

	requestBytes, replyBytes atomic.Int64 // bytes that the client holds, see memory

	// These belong to the sweeper.
	accepted     time.Time
	lastActivity uint64
	lastChange   time.Time
}

func newServerConn(s *Server, nc net.Conn, id uint64) *serverConn {
	c := &serverConn{srv: s, nc: nc, accepted: time.Now(), long: make(chan struct{}, 1)}
	c.lastChange = c.accepted
	ctx, cancel := context.WithCancel(context.Background())
	c.id, c.cancel = &Conn{id, ctx}, cancel
	c.raw = bufio.NewReaderSize(nc, packet.ReadBuffer)
	c.in.R, c.in.Max = c.raw, min(s.cfg.MaxDataLength, maxHandshakePacket)
	c.handshakeLeft = maxHandshake
	c.in.Grow = func(n int) error { return s.requests.take(c, n) }
	c.in.Shrink = func(n int) { s.requests.give(c, n) }
	c.out.Init(nc, s.cfg.WriteTimeout)
	c.out.Written = func(n int) { s.replies.give(c, n) }
	c.log = s.cfg.Log.WithField("peer", nc.RemoteAddr().String())
	return c
}

// errSilent ends a connection without a reply.
var errSilent = errors.New("connection closed without an answer")

// serve reads until the connection ends.
func (c *serverConn) serve() {
	err := c.handshake()
	for err == nil {
		err = c.readOne()
	}
	switch {
	case errors.Is(err, errStopping): // answer what is under way
		c.out.Drain()
		c.linger()
	case isFatal(err) || errors.Is(err, errSilent):
		c.out.Flushed()
		c.linger()
	}
	if c.log.Logger.IsLevelEnabled(logrus.DebugLevel) || isProtocolError(err) {
		text := "connection closed"
		if c.srv.cfg.Unproven != "" && isUnauthorized(err) {
			text += ": " + c.srv.cfg.Unproven
		}
		c.log.WithError(err).Log(severityOf(err), text)
	}
	c.abort(err)
	c.out.Join()
	if c.tokens != nil {
		c.tokens.Drop()
	}
}

func isFatal(err error) bool {
	f := (*failure)(nil)
	return errors.As(err, &f)
}

func isUnauthorized(err error) bool {
	f := (*failure)(nil)
	return errors.As(err, &f) && f.detail == pb.RpcResponseHeader_FATAL_UNAUTHORIZED
}

// isProtocolError reports whether an error deserves a log line. The loss of a client doesn't.
func isProtocolError(err error) bool {
	l := (*packet.LengthError)(nil)
	return isFatal(err) || errors.Is(err, errSilent) || errors.Is(err, errMemory) || errors.As(err, &l)
}

func severityOf(err error) logrus.Level {
	if isProtocolError(err) {
		return logrus.WarnLevel
	}
	return logrus.DebugLevel
}

// abort ends the connection at once. Any goroutine may call it, more than once.
func (c *serverConn) abort(err error) {
	if err == nil {
		err = net.ErrClosed
	}
	c.out.Fail(err)
	c.cancel()
	_ = c.nc.Close()
	c.srv.requests.wake()
	c.srv.replies.wake()
}

// evict ends the connection to free its memory for others.
func (c *serverConn) evict() {
	if c.id.ctx.Err() == nil {
		c.log.Warn(errMemory)
	}
	c.abort(errMemory)
}

var errStopping = errors.New("server is shutting down")

// stop ends the reading of calls. Calls under way are still answered.
func (c *serverConn) stop() { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) }

// linger ends the sending side, and waits a moment for the client to close the connection.
func (c *serverConn) linger() {
	if t, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, c.raw, lingerBytes)
}

// checkIdle ends the connection if it exceeds a time limit. The sweeper calls it.
func (c *serverConn) checkIdle(now time.Time) {
	if a := c.in.Activity.Load(); a != c.lastActivity || !c.out.Idle() {
		c.lastActivity, c.lastChange = a, now
	}
	cfg := &c.srv.cfg
	switch {
	case c.in.Within.Load() > 0 && cfg.ReadTimeout > 0 && now.Sub(c.lastChange) > cfg.ReadTimeout:
		c.abort(fmt.Errorf("less than %d bytes of a request within %v", packet.ReadPiece, cfg.ReadTimeout))
	case !c.hasContext.Load() && cfg.HandshakeTimeout > 0 && now.Sub(c.accepted) > cfg.HandshakeTimeout:
		c.abort(fmt.Errorf("no connection context within %v", cfg.HandshakeTimeout))
	case cfg.IdleTimeout > 0 && now.Sub(c.lastChange) > cfg.IdleTimeout:
		c.abort(fmt.Errorf("idle for %v", cfg.IdleTimeout))
	}
}

const httpAnswer = "HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n" +
	"It looks like you are making an HTTP request to a Hadoop IPC port. " +
	"This is not the correct port for the web interface on this daemon.\r\n"

// handshake reads the first seven bytes.
func (c *serverConn) handshake() error {
	var b [preambleLength]byte
	if _, err := io.ReadFull(c.in.R, b[:]); err != nil {
		return c.readError(err)
	}
	version := int8(b[4])
	switch {
	case string(b[:4]) == "GET ":
		c.sendRaw([]byte(httpAnswer))
		return errSilent
	case string(b[:4]) != magic || version != Version:
		return c.badVersion(version)
	}
	switch b[6] {
	case authNone:
		if !c.srv.cfg.Auth.takes(AuthMethodSimple) {
			return c.refuse(callUnknown, noRetryCount, c.notEnabled("SIMPLE"))
		}
	case authSASL:
		c.useSASL = true
	default:
		return c.refuse(callUnknown, noRetryCount, fatalAuth(IpcException, "Unknown auth protocol:%d", int8(b[6])))
	}
	return nil
}

// badVersion answers a client of another version in a form that it may understand. Clients that don't send "hrpc" get
// the same answer.
func (c *serverConn) badVersion(version int8) error {
	f := &failure{
		VersionMismatch, fmt.Sprintf("Server IPC version %d cannot communicate with client version %d", Version, version),
		pb.RpcResponseHeader_FATAL_VERSION_MISMATCH, true,
	}
	appendString := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	switch {
	case version >= 9:
		return c.refuse(callUnknown, noRetryCount, f)
	case version >= 3: // call id −1, status −1
		c.sendRaw(appendString(appendString([]byte{255, 255, 255, 255, 255, 255, 255, 255}, f.class), f.text))
	case version == 2: // call id 0, error: true
		c.sendRaw(appendString(appendString([]byte{0, 0, 0, 0, 1}, f.class), f.text))
	}
	return errSilent
}

func (c *serverConn) sendRaw(b []byte) {
	buf := packet.NewBuffer(len(b))
	buf.B = append(buf.B, b...)
	_ = c.out.Send(buf, 0)
}

// readError replaces the deadline error that stop causes by errStopping.
func (c *serverConn) readError(err error) error {
	if t := net.Error(nil); errors.As(err, &t) && t.Timeout() {
		return errStopping
	}
	return err
}

// readOne reads a packet and handles it. An error ends the connection; the client has been told why.
func (c *serverConn) readOne() error {
	raw, owner, err := c.in.Next()
	if err != nil {
		if l := (*packet.LengthError)(nil); errors.As(err, &l) {
			c.linger() // no reply, as in Hadoop
		}
		if u := (*packet.UnsealError)(nil); errors.As(err, &u) {
			return c.refuse(callSASL, noRetryCount, fatalAuth(SaslException, "%v", u))
		}
		return c.readError(err)
	}
	if owner != nil {
		defer func() {
			if owner != nil {
				c.in.Drop(owner)
			}
		}()
	}
	if !c.hasContext.Load() {
		if c.handshakeLeft -= len(raw); c.handshakeLeft < 0 {
			c.linger()
			return &packet.LengthError{Length: maxHandshake + 1, Max: maxHandshake}
		}
	}
	var h requestHeader
	h.callID, h.retryCount = callUnknown, noRetryCount
	b, rest, err := delimited(raw)
	if err == nil {
		err = h.parse(b)
	}
	if err != nil {
		return c.refuse(callUnknown, noRetryCount, fatalDecode("RpcRequestHeaderProto", err))
	}
	if f := checkHeader(&h); f != nil {
		return c.refuse(h.callID, h.retryCount, f)
	}
	switch {
	case h.callID < 0:
		err = c.outOfBand(&h, rest)
	case !c.hasContext.Load():
		err = fatalHeader(RpcServerException, "Connection context not established")
	case h.kind != int32(pb.RpcKind_RPC_PROTOCOL_BUFFER):
		err = fatalHeader(RpcServerException, "Unknown rpc kind in rpc header%v", pb.RpcKind(h.kind))
	default:
		if err = c.accept(&h, rest, owner); err == nil {
			owner = nil
		}
		return err
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		return c.refuse(h.callID, h.retryCount, f)
	}
	return err
}

// checkHeader refuses what Hadoop's servers don't implement. The leading spaces are theirs.
func checkHeader(h *requestHeader) *failure {
	switch {
	case h.op < 0:
		return fatalHeader(RpcServerException, " IPC Server: No rpc op in rpcRequestHeader")
	case h.op != int32(pb.RpcRequestHeader_RPC_FINAL_PACKET):
		return fatalHeader(RpcServerException, "IPC Server does not implement rpc header operation%v",
			pb.RpcRequestHeader_Operation(h.op))
	case h.kind < 0:
		return fatalHeader(RpcServerException, " IPC Server: No rpc kind in rpcRequestHeader")
	}
	return nil
}

// refuse sends the last reply of the connection, and returns the failure. Such replies lack the client id.
func (c *serverConn) refuse(callID, retryCount int32, f *failure) error {
	c.reply(&responseHeader{
		callID: callID, retryCount: retryCount, status: pb.RpcResponseHeader_FATAL,
		class: f.class, text: f.text, detail: f.detail,
	}, nil, 0, false)
	return f
}

// outOfBand handles messages with negative call ids.
func (c *serverConn) outOfBand(h *requestHeader, body []byte) error {
	switch h.callID {
	case callContext:
		if c.useSASL && !c.proved() {
			return fatalHeader(RpcServerException, "Connection header sent during SASL negotiation")
		}
		return c.connectionContext(body)
	case callSASL:
		if !c.useSASL {
			return fatalHeader(RpcServerException, "SASL protocol not requested by client")
		}
		return c.saslMessage(body)
	case callPing:
		return nil
	default:
		return fatalHeader(RpcServerException, "Unknown out of band call #%d", h.callID)
	}
}

// connectionContext learns who the client is, and which protocol it will call.
func (c *serverConn) connectionContext(body []byte) error {
	if c.hasContext.Load() {
		return fatalHeader(RpcServerException, "Connection context already processed")
	}
	var m pb.IpcConnectionContext
	b, _, err := delimited(body)
	if err == nil {
		err = unmarshal(b, &m)
	}
	if err != nil {
		return fatalDecode("IpcConnectionContextProto", err)
	}
	info := m.GetUserInfo()
	user, realUser := info.GetEffectiveUser(), info.GetRealUser()
	if info.HasEffectiveUser() && (user == "" || info.HasRealUser() && realUser == "") {
		return errSilent // Java allows no user without a name; it closes the connection
	}
	switch addr := remoteAddr(c.nc); {
	case c.principal != "":
		c.peer, err = c.kerberosPeer(info.HasEffectiveUser(), user, addr)
	case c.bearer != nil:
		c.peer, err = c.tokenPeer(info, addr)
	default:
		c.peer, err = c.simplePeer(info, addr)
	}
	if err != nil {
		return err
	}
	c.protocolName = "null"
	if m.HasProtocol() {
		c.protocolName = m.GetProtocol()
	}
	if c.srv.cfg.Authorize != nil {
		if err := c.srv.cfg.Authorize(c.protocolName, c.peer); err != nil {
			return fatalAuth(AuthorizationException, "%v", err)
		}
	}
	c.hasContext.Store(true)
	c.in.Max = c.srv.cfg.MaxDataLength
	return nil
}

// shorten makes names short.
func (c *serverConn) shorten(names ...*string) error {
	for _, name := range names {
		if c.srv.cfg.Short == nil || *name == "" {
			continue
		}
		short, err := c.srv.cfg.Short(*name)
		if err != nil {
			return fatalAuth(IllegalArgumentException, "Illegal principal name %s: %v", *name, err)
		}
		*name = short
	}
	return nil
}

// simplePeer returns the user that a client without proof claims to be.
func (c *serverConn) simplePeer(info *pb.UserInformation, addr netip.AddrPort) (*Peer, error) {
	p := &Peer{FullUser: info.GetEffectiveUser(), FullRealUser: info.GetRealUser(), Addr: addr}
	p.User, p.RealUser = p.FullUser, p.FullRealUser
	if err := c.shorten(&p.User, &p.RealUser); err != nil {
		return nil, err
	}
	if info.HasEffectiveUser() && info.HasRealUser() {
		if err := c.impersonate(p.RealUser, p.User, p.RealUser, p.User, addr.Addr()); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// tokenPeer returns the bearer of a token. A client may claim to be no other.
func (c *serverConn) tokenPeer(info *pb.UserInformation, addr netip.AddrPort) (*Peer, error) {
	user, realUser := info.GetEffectiveUser(), info.GetRealUser()
	p := &Peer{
		User: c.bearer.User, RealUser: c.bearer.RealUser, FullUser: c.bearer.User, FullRealUser: c.bearer.RealUser, Auth: AuthMethodToken, Addr: addr,
		TokenKind: c.bearer.Kind, TokenIdentifier: c.identifier, Identifier: c.bearer.Identifier,
	}
	if err := c.shorten(&user, &realUser, &p.User, &p.RealUser); err != nil {
		return nil, err
	}
	if info.HasEffectiveUser() && user != p.User {
		claim := user + " (auth:SIMPLE)"
		if info.HasRealUser() {
			claim = fmt.Sprintf("%s (auth:PROXY) via %s (auth:SIMPLE)", user, realUser)
		}
		return nil, fatalAuth(AccessControlException,
			"Authenticated user (%s (auth:TOKEN)) doesn't match what the client claims to be (%s)", c.bearer.User, claim)
	}
	return p, nil
}

// impersonate checks whether a user may act as another. claimed are their names in refusals.
func (c *serverConn) impersonate(realUser, user, claimedReal, claimed string, from netip.Addr) error {
	denied := fatalAuth(AuthorizationException, "User: %s is not allowed to impersonate %s", claimedReal, claimed)
	if c.srv.cfg.MayImpersonate == nil {
		return denied
	}
	err := c.srv.cfg.MayImpersonate(realUser, user, from)
	if err == nil {
		return nil
	}
	if e := (*Exception)(nil); errors.As(err, &e) {
		return fatalAuth(e.Class, "%s", strings.Replace(err.Error(), ": "+realUser+" ", ": "+claimedReal+" ", 1))
	}
	c.log.WithError(err).Warnf("%s may not impersonate %s", realUser, user)
	return denied
}

func remoteAddr(nc net.Conn) netip.AddrPort {
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}

// beginLong waits for the turn to build a long reply. There are MaxLong turns, and one for each connection, which must have read most of its earlier
// replies. So unread long replies are in memory as encoded bytes only, which the memory for replies counts. end ends the turn once the reply is encoded.
// It fails when the connection ends.
func (c *serverConn) beginLong() (end func(), err error) {
	select {
	case c.long <- struct{}{}:
	case <-c.id.ctx.Done():
		return nil, c.id.ctx.Err()
	}
	c.out.Reserve(0, packet.WritePiece)
	select {
	case c.srv.long <- struct{}{}:
	case <-c.id.ctx.Done():
		<-c.long
		return nil, c.id.ctx.Err()
	}
	return func() {
		<-c.srv.long
		<-c.long
	}, nil
}

// reply sends a response header and, unless m is nil, a message. If m can't be encoded, the reply says so. A long one is encoded at once: see
// beginLong.
func (c *serverConn) reply(h *responseHeader, m proto.Message, replies int, long bool) {
	const headerRoom = 128
	size := 0
	if m != nil {
		if err := checkRequired(m); err != nil {
			c.log.WithError(err).Errorf("response %s is not complete", m.ProtoReflect().Descriptor().FullName())
			h.status, h.detail = pb.RpcResponseHeader_ERROR, pb.RpcResponseHeader_ERROR_SERIALIZING_RESPONSE
			h.class, h.text = IOException, err.Error()
			m = nil
		} else {
			size = proto.Size(m)
		}
	}
	charged := 0
	if replies > 0 {
		charged = headerRoom + size
		if err := c.srv.replies.take(c, charged); err != nil {
			c.abort(err)
			return
		}
	}
	reserved := 0
	if replies > 0 && size > packet.Small && !long {
		reserved = size
		c.out.Reserve(size, c.srv.cfg.MaxQueuedReplies)
	}
	buf := packet.NewBuffer(headerRoom + len(h.class) + len(h.text) + len(h.clientID) + size)
	b := h.append(packet.Start(buf.B))
	if m != nil {
		var err error
		b, err = appendMessage(b, m, size)
		if err != nil {
			c.log.WithError(err).Errorf("response %s can't be encoded", m.ProtoReflect().Descriptor().FullName())
			h.status, h.detail = pb.RpcResponseHeader_ERROR, pb.RpcResponseHeader_ERROR_SERIALIZING_RESPONSE
			h.class, h.text = IOException, err.Error()
			b = h.append(packet.Start(buf.B[:0]))
		}
	} else if h.status == pb.RpcResponseHeader_SUCCESS {
		b = append(b, 0)
	}
	buf.B = packet.End(b, 0)
	if err := c.out.SendReserved(buf, replies, reserved, charged); err != nil {
		c.srv.replies.give(c, charged)
	}
}
