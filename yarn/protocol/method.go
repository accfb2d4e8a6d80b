package protocol

import (
	"context"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
)

// Method is a method of a protocol with a request of type Req and a response of type Resp, both protobuf messages.
type Method[Req, Resp any] struct {
	ipc.Method
	newRequest, newResponse func() proto.Message
}

// message constrains a type parameter: *T must be a protobuf message.
type message[T any] interface {
	*T
	proto.Message
}

// repeatable defines a method that may be sent again when it is unknown whether an earlier call took effect: those
// that Hadoop marks @Idempotent or @AtMostOnce, and all that change nothing.
func repeatable[Req, Resp any, Q message[Req], P message[Resp]](p ipc.Protocol, name string) Method[Req, Resp] {
	m := once[Req, Resp, Q, P](p, name)
	m.Repeatable = true
	return m
}

// once defines a method that must not be sent again unless the earlier call certainly had no effect.
func once[Req, Resp any, Q message[Req], P message[Resp]](p ipc.Protocol, name string) Method[Req, Resp] {
	return Method[Req, Resp]{
		Method:      ipc.Method{Protocol: p, Name: name},
		newRequest:  func() proto.Message { return Q(new(Req)) },
		newResponse: func() proto.Message { return P(new(Resp)) },
	}
}

// Call calls the method. If the server refuses, the error is an *ipc.RemoteError.
func (m Method[Req, Resp]) Call(ctx context.Context, to ipc.Invoker, req *Req) (*Resp, error) {
	resp := m.newResponse()
	if err := to.Invoke(ctx, m.Method, any(req).(proto.Message), resp); err != nil {
		return nil, err
	}
	return any(resp).(*Resp), nil
}

// Serve makes h the handler of the method on a server, under the rules of ipc.Handler. A server with any method also
// serves Hadoop's questions about its protocols (MetaInfo).
func (m Method[Req, Resp]) Serve(s *ipc.Server, h func(ctx context.Context, req *Req) (*Resp, error)) {
	serve(s, m, h)
	if _, ok := s.Protocol(MetaInfo.Name); !ok {
		serveMetaInfo(s)
	}
}

// ServeLong does the same for a method with long replies, of which the server builds few at a time (ipc.MaxLong).
func (m Method[Req, Resp]) ServeLong(s *ipc.Server, h func(ctx context.Context, req *Req) (*Resp, error)) {
	m.Serve(s, h)
	s.MarkLong(m.Method)
}

func serve[Req, Resp any](s *ipc.Server, m Method[Req, Resp], h func(ctx context.Context, req *Req) (*Resp, error)) {
	s.Handle(m.Method, m.newRequest, func(ctx context.Context, req proto.Message) (proto.Message, error) {
		resp, err := h(ctx, any(req).(*Req))
		if err != nil {
			return nil, err
		}
		return any(resp).(proto.Message), nil
	})
}

// Descriptor is a Method without its types in the type system.
type Descriptor struct {
	ipc.Method
	NewRequest, NewResponse func() proto.Message
}

// Descriptor returns the method's descriptor.
func (m Method[Req, Resp]) Descriptor() Descriptor {
	return Descriptor{m.Method, m.newRequest, m.newResponse}
}
