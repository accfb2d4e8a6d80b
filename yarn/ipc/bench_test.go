package ipc_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/sasl"
)

// heartbeats answers nodeHeartbeat with next to nothing.
func heartbeats(s *ipc.Server) {
	protocol.NodeHeartbeat.Serve(s, func(_ context.Context, req *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
		resp := &pb.NodeHeartbeatResponse{}
		resp.SetResponseId(req.GetNodeStatus().GetResponseId() + 1)
		return resp, nil
	})
}

func heartbeat(ctx context.Context, e ipc.Invoker, id int32) error {
	status := &pb.NodeStatus{}
	status.SetResponseId(id)
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	resp, err := protocol.NodeHeartbeat.Call(ctx, e, req)
	if err == nil && resp.GetResponseId() != id+1 {
		err = fmt.Errorf("response %d to heartbeat %d", resp.GetResponseId(), id)
	}
	return err
}

// run makes b.N calls from so many goroutines, over so many connections. Client and server share the processors.
func run(b *testing.B, callers, conns int) {
	_, addr := serve(b, ipc.ServerConfig{}, heartbeats)
	c := newClient(b, ipc.ClientConfig{})
	ctx := context.Background()
	endpoints := make([]*ipc.Endpoint, conns)
	for i := range endpoints {
		endpoints[i] = c.Endpoint(addr, protocol.ResourceTracker, ipc.Identity{User: fmt.Sprint("nm", i)})
		if err := heartbeat(ctx, endpoints[i], 0); err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := heartbeat(ctx, endpoints[g%conns], int32(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkRoundTrip(b *testing.B)                { run(b, 1, 1) }
func BenchmarkManyCallersOneConnection(b *testing.B) { run(b, 100, 1) }
func BenchmarkManyConnections(b *testing.B)          { run(b, 1000, 1000) }
func BenchmarkFewBusyConnections(b *testing.B)       { run(b, 400, 10) }

// BenchmarkHandshake measures new connections that prove by Kerberos who they are and do one call. Client and server share the processors: -cpu 1 is both of them on one.
func BenchmarkHandshake(b *testing.B) {
	for _, quality := range []sasl.Quality{sasl.Authentication, sasl.Privacy} {
		b.Run(quality.String(), func(b *testing.B) {
			a, tickets := kerberosWorld(b, "nm/node1.example.com")
			only := sasl.Qualities{quality}
			_, addr := serve(b, ipc.ServerConfig{Auth: ipc.AuthKerberos, Kerberos: a, Protection: only, Short: func(string) (string, error) { return "yarn", nil }}, heartbeats)
			who := ipc.Identity{User: "nm/node1.example.com@EXAMPLE.COM", Kerberos: tickets}
			b.ReportAllocs()
			for i := int32(0); b.Loop(); i++ {
				c := ipc.NewClient(ipc.ClientConfig{Protection: only})
				err := heartbeat(context.Background(), c.Endpoint(addr, protocol.ResourceTracker, who), i)
				c.Close()
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "handshakes/s")
		})
	}
}
