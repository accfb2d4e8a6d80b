package daemon

import (
	"testing"
	"time"

	"heddle/yarn/ipc"
)

func TestCalls(t *testing.T) {
	a := ipc.Activity{Connections: 2, Running: 1, Answered: 10, Failed: 3, Took: 20 * time.Millisecond, Received: 5, Sent: 6}
	c := &Calls{Name: "ResourceTrackerService", Port: 8031, Activity: func() ipc.Activity { return a }}
	now := time.Unix(1000, 0)
	look := func() map[string]any {
		t.Helper()
		b := c.Bean("ResourceManager", "h", now)
		if b.Name != "Hadoop:service=ResourceManager,name=RpcActivityForPort8031" || len(b.Attrs) != 34 {
			t.Fatalf("%s has %d attributes", b.Name, len(b.Attrs))
		}
		got := map[string]any{}
		for _, at := range b.Attrs {
			got[at.Name] = at.Value
		}
		return got
	}
	want := func(step string, mean float64, rate, n int64) {
		t.Helper()
		got := look()
		if got["RpcProcessingTimeAvgTime"] != mean || got["TotalRequestsPerSecond"] != rate || got["RpcProcessingTimeNumOps"] != n {
			t.Errorf("%s: %v", step, got)
		}
	}
	want("all there was", 2, 0, 10)
	got := look()
	if got["RpcCallSuccesses"] != int64(7) || got["NumOpenConnections"] != 2 || got["NumInProcessHandler"] != int64(1) || got["TotalRequests"] != int64(11) ||
		got["ReceivedBytes"] != int64(5) || got["SentBytes"] != int64(6) {
		t.Errorf("%v", got)
	}
	a.Answered, a.Took = 50, 140*time.Millisecond
	now = now.Add(5 * time.Second)
	want("within the window", 2, 0, 50)
	now = now.Add(5 * time.Second)
	want("a window later", 3, 4, 50)
	now = now.Add(10 * time.Second)
	want("nothing more", 0, 0, 50)
}

func TestDetailedCalls(t *testing.T) {
	methods := []ipc.MethodActivity{
		{Method: ipc.Method{Name: "nodeHeartbeat"}, Answered: 4, Took: 8 * time.Millisecond}, {Method: ipc.Method{Name: "registerNodeManager"}},
	}
	c := &Calls{Port: 8031, Methods: func() []ipc.MethodActivity { return methods }}
	now := time.Unix(1000, 0)
	want := func(n int64, mean float64) {
		t.Helper()
		b := c.Detailed("ResourceManager", "h", now)
		got := map[string]any{}
		for _, at := range b.Attrs {
			got[at.Name] = at.Value
		}
		if b.Name != "Hadoop:service=ResourceManager,name=RpcDetailedActivityForPort8031" || len(b.Attrs) != 3+2*6 ||
			got["NodeHeartbeatNumOps"] != n || got["OverallNodeHeartbeatAvgTime"] != mean || got["RegisterNodeManagerNumOps"] != int64(0) {
			t.Errorf("%v", b)
		}
	}
	want(4, 2)
	methods[0].Answered, methods[0].Took = 6, 14*time.Millisecond
	now = now.Add(callsWindow)
	want(6, 3)
}
