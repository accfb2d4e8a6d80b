package daemon

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/yarn/ipc"
)

// callsWindow is the shortest time over which means are taken. Hadoop takes them between two snapshots of its own.
const callsWindow = 10 * time.Second

// Calls shows the activity of an RPC server as the bean RpcActivityForPort<port>.
type Calls struct {
	Name     string // of the service, such as ResourceTrackerService
	Port     int
	Activity func() ipc.Activity
	// Methods returns the counts of each method, as ipc.Server does; nil means no counts.
	Methods func() []ipc.MethodActivity

	mu      sync.Mutex
	all     window
	methods map[string]*window
}

// window keeps the means of the last completed span of time.
type window struct {
	at   time.Time // begin of the present span
	n    int64
	took time.Duration
	mean float64 // mean time of a call in the previous span, ms
	rate int64   // calls a second in the previous span
}

// Bean returns the counts. Calls go to their handlers at once: there is no queue to show lengths or times of.
func (c *Calls) Bean(service, host string, now time.Time) Bean {
	a := c.Activity()
	c.mu.Lock()
	mean, rate := c.all.look(a.Answered, a.Took, now)
	c.mu.Unlock()
	name := "RpcActivityForPort" + strconv.Itoa(c.Port)
	attrs := []Attr{
		{"tag.port", strconv.Itoa(c.Port)},
		{"tag.serverName", c.Name},
		{"tag.Context", "rpc"},
		{"tag.NumOpenConnectionsPerUser", "{}"},
		{"tag.Hostname", host},
		{"ReceivedBytes", a.Received},
		{"SentBytes", a.Sent},
	}
	for _, name := range []string{
		"RpcAuthenticationFailures", "RpcAuthenticationSuccesses", "RpcAuthorizationFailures",
		"RpcAuthorizationSuccesses", "RpcClientBackoff", "RpcClientBackoffDisconnected", "RpcRequeueCalls", "RpcSlowCalls",
		"CallQueueLength", "NumDroppedConnections",
	} {
		attrs = append(attrs, Attr{name, 0})
	}
	for _, stat := range []struct {
		name string
		n    int64
		mean float64
	}{
		{"DeferredRpcProcessingTime", 0, 0},
		{"RpcEnQueueTime", a.Answered, 0},
		{"RpcLockWaitTime", a.Answered, 0},
		{"RpcQueueTime", a.Answered, 0},
		{"RpcProcessingTime", a.Answered, mean},
		{"RpcResponseTime", a.Answered, mean},
	} {
		attrs = append(attrs, Attr{stat.name + "NumOps", stat.n}, Attr{stat.name + "AvgTime", stat.mean})
	}
	return Bean{"Hadoop:service=" + service + ",name=" + name, name, append(
		attrs,
		Attr{"RpcCallSuccesses", a.Answered - a.Failed},
		Attr{"NumInProcessHandler", a.Running},
		Attr{"TotalRequests", a.Answered + a.Running},
		Attr{"TotalRequestsPerSecond", rate},
		Attr{"NumOpenConnections", a.Connections},
	)}
}

// Detailed returns the counts of each method as the bean RpcDetailedActivityForPort<port>. Without a queue, the overall
// time of a call is that of its handler.
func (c *Calls) Detailed(service, host string, now time.Time) Bean {
	name := "RpcDetailedActivityForPort" + strconv.Itoa(c.Port)
	attrs := []Attr{{"tag.port", strconv.Itoa(c.Port)}, {"tag.Context", "rpcdetailed"}, {"tag.Hostname", host}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.methods == nil {
		c.methods = make(map[string]*window)
	}
	for _, m := range c.Methods() {
		w := c.methods[m.Method.Name]
		if w == nil {
			w = &window{}
			c.methods[m.Method.Name] = w
		}
		mean, _ := w.look(m.Answered, m.Took, now)
		title := strings.ToUpper(m.Method.Name[:1]) + m.Method.Name[1:]
		attrs = append(
			attrs,
			Attr{"Deferred" + title + "NumOps", 0}, Attr{"Deferred" + title + "AvgTime", 0.0},
			Attr{"Overall" + title + "NumOps", m.Answered}, Attr{"Overall" + title + "AvgTime", mean},
			Attr{title + "NumOps", m.Answered}, Attr{title + "AvgTime", mean},
		)
	}
	return Bean{"Hadoop:service=" + service + ",name=" + name, name, attrs}
}

// look returns the mean time of calls in ms, and calls a second, of the last completed window. Before the first one is
// complete they are those of the present window. n and took count all calls so far.
func (w *window) look(n int64, took time.Duration, now time.Time) (mean float64, rate int64) {
	first := w.at.IsZero()
	if passed := now.Sub(w.at); first || passed >= callsWindow {
		w.mean, w.rate = 0, 0
		if more := n - w.n; more > 0 {
			w.mean = float64(took-w.took) / float64(more) / float64(time.Millisecond)
			if !first {
				w.rate = int64(float64(more) / passed.Seconds())
			}
		}
		w.at, w.n, w.took = now, n, took
	}
	return w.mean, w.rate
}
