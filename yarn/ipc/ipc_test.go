package ipc_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// echo answers getQueueInfo with a queue of the asked name.
func echo(s *ipc.Server) {
	protocol.GetQueueInfo.Serve(s, func(_ context.Context, req *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
		return queue(req.GetQueueName()), nil
	})
}

func queue(name string) *pb.GetQueueInfoResponse {
	q := &pb.QueueInfo{}
	q.SetQueueName(name)
	resp := &pb.GetQueueInfoResponse{}
	resp.SetQueueInfo(q)
	return resp
}

func ask(name string) *pb.GetQueueInfoRequest {
	req := &pb.GetQueueInfoRequest{}
	req.SetQueueName(name)
	return req
}

func TestCallsOverOneConnection(t *testing.T) {
	s, addr := serve(t, ipc.ServerConfig{}, echo)
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "alice"})
	ctx := testContext(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			want := fmt.Sprintf("root.%d.%s", i, strings.Repeat("x", i*i)) // up to 40 kB: small and large packets
			resp, err := protocol.GetQueueInfo.Call(ctx, e, ask(want))
			if err != nil {
				t.Error(err)
			} else if got := resp.GetQueueInfo().GetQueueName(); got != want {
				t.Errorf("got %d bytes, want %d", len(got), len(want))
			}
		})
	}
	wg.Wait()
	if n := s.Connections(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestHandlerSeesCaller(t *testing.T) {
	got := make(chan ipc.Call, 1)
	_, addr := serve(t, ipc.ServerConfig{
		MayImpersonate: func(realUser, user string, from netip.Addr) error {
			if realUser != "oozie" || user != "alice" || !from.IsLoopback() {
				return fmt.Errorf("%s as %s from %s", realUser, user, from)
			}
			return nil
		},
	}, func(s *ipc.Server) {
		protocol.GetQueueInfo.Serve(s, func(ctx context.Context, _ *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
			got <- *ipc.CallFrom(ctx)
			return nil, nil // an empty response
		})
	})
	e := newClient(t, ipc.ClientConfig{CallerContext: "CLI"}).
		Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "alice", RealUser: "oozie"})
	resp, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
	if err != nil || resp.HasQueueInfo() {
		t.Fatalf("got %v, %v", resp, err)
	}
	c := <-got
	if c.User != "alice" || c.RealUser != "oozie" || c.Auth != ipc.AuthMethodSimple || !c.Addr.Addr().IsLoopback() ||
		c.Method.Name != "getQueueInfo" || c.RetryCount != 0 || len(c.ClientID) != 16 || c.CallerContext != "CLI" ||
		c.Conn.ID() == 0 {
		t.Errorf("handler saw %+v, peer %+v", c, c.Peer)
	}

	mallory := newClient(t, ipc.ClientConfig{}).
		Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "alice", RealUser: "mallory"})
	_, err = protocol.GetQueueInfo.Call(testContext(t), mallory, ask("q"))
	r := (*ipc.RemoteError)(nil)
	if !errors.As(err, &r) || r.Class != ipc.AuthorizationException ||
		r.Text != "User: mallory is not allowed to impersonate alice" || !r.Fatal {
		t.Errorf("got %v", err)
	}
}

// What monitoring reads of a server: how often each method was called, and how much came and went.
func TestActivity(t *testing.T) {
	s, addr := serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
		protocol.GetQueueInfo.Serve(s, func(_ context.Context, req *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
			if req.GetQueueName() == "" {
				return nil, errors.New("no name")
			}
			return queue(req.GetQueueName()), nil
		})
		protocol.GetClusterMetrics.Serve(s, func(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
			return &pb.GetClusterMetricsResponse{}, nil
		})
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	name := strings.Repeat("q", 5000)
	for _, ask := range []*pb.GetQueueInfoRequest{ask(name), ask("b"), ask("")} {
		_, _ = protocol.GetQueueInfo.Call(testContext(t), e, ask)
	}
	await.Until(t, "all calls are counted", func() bool { return s.Activity().Answered == 3 })
	if a := s.Activity(); a.Failed != 1 || a.Received < 5000 || a.Sent < 5000 || a.Received > 7000 || a.Sent > 7000 {
		t.Errorf("%+v", a)
	}
	byName := map[string]ipc.MethodActivity{}
	for _, m := range s.Methods() {
		byName[m.Method.Name] = m
	}
	if m := byName["getQueueInfo"]; m.Answered != 3 || m.Failed != 1 || m.Took <= 0 {
		t.Errorf("%+v", m)
	}
	if m, ok := byName["getClusterMetrics"]; !ok || m.Answered != 0 {
		t.Errorf("%+v %v", m, ok)
	}
}

func TestErrorsReachTheCaller(t *testing.T) {
	_, badFile := os.Open("/no/such/file")
	for _, c := range []struct {
		name        string
		err         error
		class, text string
	}{
		{"exception", ipc.NewException(ipc.ApplicationNotFound, "no %s", "app"), ipc.ApplicationNotFound, "no app"},
		{
			"wrapped exception", fmt.Errorf("queue q: %w", ipc.NewException(ipc.AccessControlException, "closed")),
			ipc.AccessControlException, "queue q: closed",
		},
		{"other error", errors.New("what"), ipc.YarnException, "what"},
		{"file", badFile, ipc.IOException, "open /no/such/file: no such file or directory"},
		{"standby", ipc.NewException(ipc.StandbyException, "not active"), ipc.StandbyException, "not active"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, addr := serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
				protocol.GetQueueInfo.Serve(s, func(context.Context, *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
					return nil, c.err
				})
			})
			e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
			_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
			r := (*ipc.RemoteError)(nil)
			if !errors.As(err, &r) || r.Text != c.text || r.Fatal || r.Method != "getQueueInfo" || r.Addr != addr ||
				r.Detail != pb.RpcResponseHeader_ERROR_APPLICATION {
				t.Errorf("got %+v, want %q", r, c.text)
			}
			if !ipc.IsClass(err, c.class) || ipc.IsClass(err, ipc.RetriableException) {
				t.Errorf("got class %s, want %s", ipc.Class(err), c.class)
			}
		})
	}
}

// An exception that wraps another one has its cause as a stock ResourceManager's recorded answers have, without the lines of the stack.
func TestCausesOfRecordedRefusals(t *testing.T) {
	n := 0
	for _, r := range loadRecordings(t, "causes") {
		for _, p := range r.packets {
			parts, ok := split(p.raw)
			var h pb.RpcResponseHeader
			if p.client || !ok || proto.Unmarshal(parts[0], &h) != nil || h.GetExceptionClassName() != ipc.YarnException {
				continue
			}
			n++
			var want strings.Builder
			for line := range strings.Lines(h.GetErrorMsg()) {
				if !strings.HasPrefix(line, "\t") {
					want.WriteString(line)
				}
			}
			_, addr := serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
				protocol.GetQueueInfo.Serve(s, func(context.Context, *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
					return nil, ipc.NewException(ipc.YarnException, "%s", firstLine(h.GetErrorMsg()))
				})
			})
			_, err := protocol.GetQueueInfo.Call(testContext(t), newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"}), ask("q"))
			if r := (*ipc.RemoteError)(nil); !errors.As(err, &r) || r.Text != want.String() || !strings.Contains(r.Text, "\nCaused by: ") {
				t.Errorf("%v, want %q", err, &want)
			}
		}
	}
	if n < 5 {
		t.Errorf("%d refusals", n)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	log, hook := test.NewNullLogger()
	_, addr := serve(t, ipc.ServerConfig{Log: logrus.NewEntry(log)}, func(s *ipc.Server) {
		protocol.GetQueueInfo.Serve(s, func(context.Context, *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
			panic("at the disco")
		})
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "alice"})
	_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
	if !ipc.IsClass(err, ipc.YarnRuntimeException) || !strings.Contains(err.Error(), "at the disco") {
		t.Errorf("got %v", err)
	}
	entry := hook.LastEntry()
	if entry == nil || !strings.Contains(entry.Message, "at the disco") || entry.Data["user"] != "alice" ||
		entry.Data["method"] != protocol.GetQueueInfo.String() {
		t.Errorf("logged %+v", entry)
	}
}

func TestIncompleteMessagesAreNotSent(t *testing.T) {
	_, addr := serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
		protocol.GetServiceStatus.Serve(s, func(context.Context, *pb.GetServiceStatusRequest) (*pb.GetServiceStatusResponse, error) {
			return &pb.GetServiceStatusResponse{}, nil // state is required
		})
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.HAService, ipc.Identity{User: "u"})
	_, err := protocol.GetServiceStatus.Call(testContext(t), e, &pb.GetServiceStatusRequest{})
	r := (*ipc.RemoteError)(nil)
	if !errors.As(err, &r) || r.Detail != pb.RpcResponseHeader_ERROR_SERIALIZING_RESPONSE ||
		r.Text != "Message missing required fields: state" {
		t.Errorf("response: got %v", err)
	}
	_, err = protocol.TransitionToActive.Call(testContext(t), e, &pb.TransitionToActiveRequest{})
	if err == nil || errors.As(err, &r) && r.Method == "transitionToActive" || !strings.Contains(err.Error(), "reqInfo") {
		t.Errorf("request: got %v", err)
	}
}

// A response that its handler gives away and goes on changing must not take the server down.
func TestPanicWhileEncoding(t *testing.T) {
	_, addr := serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
		m := protocol.GetQueueInfo
		s.Handle(m.Method, m.Descriptor().NewRequest, func(context.Context, proto.Message) (proto.Message, error) {
			return brokenMessage{}, nil
		})
		protocol.GetClusterMetrics.Serve(s, func(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
			return nil, nil
		})
	})
	e := newClient(t, ipc.ClientConfig{}).Endpoint(addr, protocol.ApplicationClient, ipc.Identity{User: "u"})
	_, err := protocol.GetQueueInfo.Call(testContext(t), e, ask("q"))
	if c := (*ipc.ConnError)(nil); !errors.As(err, &c) {
		t.Errorf("got %v", err)
	}
	if err := clusterMetrics(testContext(t), e); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// brokenMessage panics when anything is asked of it.
type brokenMessage struct{ proto.Message }
