package ipc

import (
	"fmt"
	"runtime/debug"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc/packet"
	"heddle/yarn/pb"
)

// job is a call on its way through the server. It is also the handler's context, to save an allocation.
type job struct {
	handlerContext
	conn   *serverConn
	served *served        // the method, once it is known
	body   []byte         // RequestHeader and request
	buf    *packet.Buffer // holds body
	taken  int            // bytes counted in the server's memory
	large  bool           // the packet is large, so its decoded size is counted as well
	long   func()         // ends the turn for a long reply; nil: the reply isn't long
}

// accept takes a call. It blocks while the connection has too many of them, which keeps it from reading more. If it
// succeeds, it owns the packet's buffer.
func (c *serverConn) accept(h *requestHeader, body []byte, owner *packet.Buffer) error {
	if err := c.out.Begin(c.srv.cfg.MaxCallsPerConnection, c.srv.cfg.MaxQueuedReplies); err != nil {
		return err
	}
	large := owner != nil
	if !large { // the next packet overwrites the read buffer
		owner = packet.NewBuffer(len(body))
		if err := c.srv.requests.take(c, cap(owner.B)); err != nil {
			owner.Free()
			return err
		}
		owner.B = append(owner.B, body...)
		body = owner.B
	}
	c.srv.requests.begin(c, cap(owner.B))
	if string(h.clientID) != c.clientID {
		c.clientID = string(h.clientID)
	}
	if string(h.callerContext) != c.callerContext {
		c.callerContext = string(h.callerContext)
	}
	j := &job{conn: c, body: body, buf: owner, taken: cap(owner.B), large: large}
	j.Context = c.id.ctx
	j.call = Call{
		Peer: c.peer, Conn: c.id, ID: h.callID, RetryCount: h.retryCount, ClientID: c.clientID,
		CallerContext: c.callerContext,
	}
	s := c.srv
	s.calls.Add(1)
	select {
	case s.work <- j: // an idle worker, whose stack has grown already
	default:
		go j.run()
	}
	return nil
}

// worker runs calls one after the other.
func (s *Server) worker() {
	defer s.background.Done()
	for {
		select {
		case j := <-s.work:
			j.run()
		case <-s.quit:
			return
		}
	}
}

// run answers the call. If encoding the response panics, most likely because the handler still changes it, only the
// connection ends, not the server.
func (j *job) run() {
	defer j.conn.srv.calls.Done()
	defer func() { j.conn.srv.requests.end(j.taken) }()
	defer func() {
		if j.long != nil {
			j.long()
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			j.log().Errorf("response can't be encoded: %v\n%s", p, debug.Stack())
			j.conn.abort(fmt.Errorf("response of %s can't be encoded: %v", j.call.Method, p))
		}
	}()
	activity := &j.conn.srv.activity
	began := activity.begin()
	resp, err := j.invoke()
	activity.end(began, j.served, err)
	j.conn.srv.requests.end(j.taken)
	j.taken = 0
	h := responseHeader{callID: j.call.ID, retryCount: j.call.RetryCount, clientID: j.call.ClientID}
	if err != nil {
		f := failureOf(err)
		h.status, h.class, h.text, h.detail = pb.RpcResponseHeader_ERROR, f.class, f.text, f.detail
		resp = nil
	}
	j.conn.reply(&h, resp, 1, j.long != nil)
}

// invoke finds the handler and calls it.
func (j *job) invoke() (resp proto.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			j.log().Errorf("handler panicked: %v\n%s", p, debug.Stack())
			resp, err = nil, &failure{YarnRuntimeException, fmt.Sprint(p), pb.RpcResponseHeader_ERROR_APPLICATION, false}
		}
	}()
	m, req, err := j.decode()
	if j.buf != nil {
		j.free()
	}
	if err != nil {
		return nil, err
	}
	if gate := j.conn.srv.cfg.Gate; gate != nil {
		if err := gate(m.method.Protocol.Name); err != nil {
			return nil, err
		}
	}
	if m.long {
		if j.long, err = j.conn.beginLong(); err != nil {
			return nil, err
		}
	}
	return m.handler(&j.handlerContext, req)
}

// makeRoom counts the memory that a large request will take once it is decoded. It fails if there isn't enough.
func (j *job) makeRoom(b []byte, req proto.Message) error {
	if !j.large {
		return nil
	}
	memory := j.conn.srv.requests
	n := footprint(b, req.ProtoReflect().Descriptor())
	if memory.work(n) {
		j.taken += n
		return nil
	}
	if int64(n+j.taken) > memory.limit {
		return NewException(IOException, "%s: a request of %d bytes that takes %d in memory is too large; the limit is %d "+
			"(heddle.port.memory-mb). Split it.", j.call.Method, len(b), n, memory.limit)
	}
	return NewException(RetriableException, "%s: the memory for requests is used up, try again", j.call.Method)
}

// free gives the packet's buffer back once the packet is decoded.
func (j *job) free() {
	if j.large {
		j.conn.srv.requests.end(cap(j.buf.B))
		j.taken -= cap(j.buf.B)
	}
	j.buf.Free()
	j.buf, j.body = nil, nil
}

func (j *job) log() *logrus.Entry {
	return j.conn.log.WithFields(logrus.Fields{
		"method": j.call.Method.String(), "call": j.call.ID, "user": j.call.User,
	})
}

// decode finds the method and parses the request.
func (j *job) decode() (*served, proto.Message, error) {
	b, rest, err := delimited(j.body)
	if err != nil {
		return nil, nil, err
	}
	var h callHeader
	if err := h.parse(b); err != nil {
		return nil, nil, err
	}
	service := j.conn.srv.services[string(h.protocol)]
	if service == nil {
		return nil, nil, &failure{
			RpcNoSuchProtocol, fmt.Sprintf("Unknown protocol: %s", h.protocol),
			pb.RpcResponseHeader_ERROR_NO_SUCH_PROTOCOL, false,
		}
	}
	if h.version != service.protocol.Version {
		return nil, nil, &failure{
			VersionMismatch, fmt.Sprintf("Protocol %s version mismatch. (client = %d, server = %d)", h.protocol,
				int64(h.version), service.protocol.Version), pb.RpcResponseHeader_ERROR_RPC_VERSION_MISMATCH, false,
		}
	}
	m := service.methods[string(h.method)]
	if m == nil {
		return nil, nil, &failure{
			RpcNoSuchMethod, fmt.Sprintf("Unknown method %s called on %s protocol.", h.method, j.conn.protocolName),
			pb.RpcResponseHeader_ERROR_NO_SUCH_METHOD, false,
		}
	}
	j.served, j.call.Method = m, m.method
	b, _, err = delimited(rest)
	if err != nil {
		return nil, nil, err
	}
	req := m.newRequest()
	if err := j.makeRoom(b, req); err != nil {
		return nil, nil, err
	}
	if err := unmarshal(b, req); err != nil {
		return nil, nil, err
	}
	return m, req, nil
}

// appendMessage appends m after its length. size is its proto.Size.
func appendMessage(b []byte, m proto.Message, size int) ([]byte, error) {
	b = protowire.AppendVarint(b, uint64(size))
	return proto.MarshalOptions{UseCachedSize: true, AllowPartial: true}.MarshalAppend(b, m)
}
