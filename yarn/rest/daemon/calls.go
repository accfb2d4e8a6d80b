package daemon

import (
	"strconv"
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

	mu   sync.Mutex
	at   time.Time // when the window began
	from ipc.Activity
	mean float64 // ms a call took in the window before
	rate int64   // calls a second in the window before
}

// Bean returns the counts. Calls go to their handlers at once, so there is no queue whose length or times could be told.
func (c *Calls) Bean(service, host string, now time.Time) Bean {
	a := c.Activity()
	mean, rate := c.recent(a, now)
	name := "RpcActivityForPort" + strconv.Itoa(c.Port)
	attrs := []Attr{
		{"tag.port", strconv.Itoa(c.Port)},
		{"tag.serverName", c.Name},
		{"tag.Context", "rpc"},
		{"tag.NumOpenConnectionsPerUser", "{}"},
		{"tag.Hostname", host},
	}
	for _, name := range []string{
		"ReceivedBytes", "SentBytes", "RpcAuthenticationFailures", "RpcAuthenticationSuccesses", "RpcAuthorizationFailures",
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

// recent returns the mean time of calls, in ms, and the calls a second, of the last window that has ended; of the present
// one as long as there was none.
func (c *Calls) recent(a ipc.Activity, now time.Time) (mean float64, rate int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.at.IsZero()
	if passed := now.Sub(c.at); first || passed >= callsWindow {
		c.mean, c.rate = 0, 0
		if n := a.Answered - c.from.Answered; n > 0 {
			c.mean = float64(a.Took-c.from.Took) / float64(n) / float64(time.Millisecond)
			if !first {
				c.rate = int64(float64(n) / passed.Seconds())
			}
		}
		c.at, c.from = now, a
	}
	return c.mean, c.rate
}
