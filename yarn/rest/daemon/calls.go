package daemon

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/yarn/ipc"
)

// callsWindow is what averages are taken over at least, as Hadoop's are over the time between two looks of its own.
const callsWindow = 10 * time.Second

// Calls shows what a server of calls does, as the bean RpcActivityForPort<port>.
type Calls struct {
	Name     string // of the service, such as ResourceTrackerService
	Port     int
	Activity func() ipc.Activity
	// Methods are the counts by methods, as of ipc.Server; nil is none.
	Methods func() []ipc.MethodActivity

	mu      sync.Mutex
	all     window
	methods map[string]*window
}

// window keeps means of the last span of time that has ended.
type window struct {
	at   time.Time // when the present one began
	n    int64
	took time.Duration
	mean float64 // ms a call took in the one before
	rate int64   // calls a second in the one before
}

// Bean returns the counts. Calls go to their handlers at once, so there is no queue whose length or times could be told.
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

// Detailed returns the counts by methods, as the bean RpcDetailedActivityForPort<port>. As there is no queue, a call takes
// overall what its handler takes.
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

// look returns the mean time of calls, in ms, and the calls a second, of the last window that has ended; of the present one
// as long as there was none. n and took are of all calls there ever were.
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
