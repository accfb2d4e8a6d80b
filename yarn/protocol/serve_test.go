package protocol_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func serve(t *testing.T, register func(*ipc.Server)) *ipc.Endpoint {
	t.Helper()
	s, err := ipc.NewServer(ipc.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	register(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	c := ipc.NewClient(ipc.ClientConfig{})
	t.Cleanup(func() {
		c.Close()
		s.Close()
		<-done
	})
	return c.Endpoint(l.Addr().String(), protocol.ContainerControl, ipc.Identity{User: "rm"})
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestContainerControl(t *testing.T) {
	id := records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 5, ID: 1}, Attempt: 1}, ID: 3}
	nm := serve(t, func(s *ipc.Server) {
		protocol.SuspendContainers.Serve(s, func(_ context.Context, req *pb.SuspendContainersRequest) (*pb.SuspendContainersResponse, error) {
			resp := &pb.SuspendContainersResponse{}
			resp.SetSucceededRequests(req.GetContainerId())
			return resp, nil
		})
	})
	req := &pb.SuspendContainersRequest{}
	req.SetContainerId([]*pb.ContainerId{id.PB()})
	resp, err := protocol.SuspendContainers.Call(testContext(t), nm, req)
	if err != nil || len(resp.GetSucceededRequests()) != 1 || records.ContainerIDFrom(resp.GetSucceededRequests()[0]) != id {
		t.Errorf("got %v, %v", resp, err)
	}
	_, err = protocol.ResumeContainers.Call(testContext(t), nm, &pb.ResumeContainersRequest{})
	if !ipc.IsClass(err, ipc.RpcNoSuchMethod) {
		t.Errorf("a method that isn't served: %v", err)
	}
}

// A NodeManager of Hadoop's does not know the protocol.
func TestPeerWithoutContainerControl(t *testing.T) {
	nm := serve(t, func(s *ipc.Server) {
		protocol.StopContainers.Serve(s, func(context.Context, *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
			return nil, nil
		})
	})
	_, err := protocol.SuspendContainers.Call(testContext(t), nm, &pb.SuspendContainersRequest{})
	r := (*ipc.RemoteError)(nil)
	if !errors.As(err, &r) || r.Class != ipc.RpcNoSuchProtocol || r.Detail != pb.RpcResponseHeader_ERROR_NO_SUCH_PROTOCOL ||
		r.Text != "Unknown protocol: heddle.ContainerControl" {
		t.Errorf("got %v", err)
	}
}

func TestMetaInfo(t *testing.T) {
	server := serve(t, func(s *ipc.Server) {
		protocol.StopContainers.Serve(s, func(context.Context, *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
			return nil, nil
		})
	})
	for _, c := range []struct {
		protocol, kind string
		methods        int // −1: no signature
		class          string
	}{
		{protocol.ContainerManagement.Name, "RPC_PROTOCOL_BUFFER", 12, ""},
		{protocol.MetaInfo.Name, "RPC_PROTOCOL_BUFFER", 2, ""},
		{protocol.ContainerManagement.Name, "RPC_WRITABLE", -1, ""},
		{protocol.ApplicationClient.Name, "RPC_PROTOCOL_BUFFER", -1, ""},
		{protocol.ContainerManagement.Name, "RPC_CARRIER_PIGEON", -1, ipc.IllegalArgumentException},
	} {
		req := &pb.GetProtocolSignatureRequest{}
		req.SetProtocol(c.protocol)
		req.SetRpcKind(c.kind)
		resp, err := protocol.GetProtocolSignature.Call(testContext(t), server, req)
		if ipc.Class(err) != c.class {
			t.Errorf("%s %s: got %v", c.protocol, c.kind, err)
			continue
		}
		methods := -1
		if s := resp.GetProtocolSignature(); len(s) == 1 {
			methods = len(s[0].GetMethods())
		}
		if methods != c.methods {
			t.Errorf("%s %s: %d methods, want %d", c.protocol, c.kind, methods, c.methods)
		}
	}
}

// What handlers see of a call can be made up for tests of theirs.
func TestCallOutsideOfAServer(t *testing.T) {
	ctx := ipc.WithCall(context.Background(), ipc.Call{
		Peer: &ipc.Peer{User: "alice", Auth: ipc.AuthMethodToken}, Conn: ipc.NewConn(context.Background(), 7), ID: 3,
	})
	c := ipc.CallFrom(ctx)
	if c == nil || c.User != "alice" || c.Conn.ID() != 7 || c.ID != 3 || c.Auth.String() != "TOKEN" {
		t.Errorf("got %+v", c)
	}
	if c := ipc.CallFrom(context.Background()); c != nil {
		t.Errorf("no call, but %+v", c)
	}
}
