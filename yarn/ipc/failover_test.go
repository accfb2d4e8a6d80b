package ipc_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/ports"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// quick pauses a millisecond between tries.
var quick = ipc.RetryPolicy{Base: time.Millisecond, Max: 4 * time.Millisecond, MaxAttempts: 20}

// member is one of several ResourceManagers.
type member struct {
	addr  string
	calls atomic.Int32

	mu  sync.Mutex
	err error
	// healthy is the call from which on it answers, 0 if there is none.
	healthy int32
}

func (m *member) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func newMember(t *testing.T, err error) *member {
	t.Helper()
	m := &member{err: err}
	_, m.addr = serve(t, ipc.ServerConfig{}, func(s *ipc.Server) {
		answer := func() error {
			n := m.calls.Add(1)
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.healthy > 0 && n >= m.healthy {
				return nil
			}
			return m.err
		}
		protocol.GetClusterMetrics.Serve(s, func(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
			return nil, answer()
		})
		protocol.FailApplicationAttempt.Serve(s, func(context.Context, *pb.FailApplicationAttemptRequest) (*pb.FailApplicationAttemptResponse, error) {
			return nil, answer()
		})
	})
	return m
}

// deadAddr is an address at which nobody listens while the test runs.
func deadAddr(t *testing.T) string {
	t.Helper()
	return ports.Loopback(t, 1)[0]
}

func failover(t *testing.T, p ipc.RetryPolicy, addrs ...string) *ipc.Failover {
	t.Helper()
	return newClient(t, ipc.ClientConfig{}).Failover(addrs, protocol.ApplicationClient, ipc.Identity{User: "u"}, p)
}

var standby = ipc.NewException(ipc.StandbyException, "not active")

// Whoever asks next begins with the server that answered others. Another protocol has its own.
func TestFailoversOfOneClientRememberTheSameServer(t *testing.T) {
	a, b := newMember(t, standby), newMember(t, nil)
	c := newClient(t, ipc.ClientConfig{})
	for _, user := range []string{"u", "v"} {
		f := c.Failover([]string{a.addr, b.addr}, protocol.ApplicationClient, ipc.Identity{User: user}, quick)
		if err := clusterMetrics(testContext(t), f); err != nil {
			t.Fatal(err)
		}
		if n := a.calls.Load(); n != 1 || f.Current() != b.addr {
			t.Errorf("%s: %d calls of the standby, and then %s", user, n, f.Current())
		}
	}
	for _, addrs := range [][]string{{a.addr}, {b.addr, a.addr}} {
		if f := c.Failover(addrs, protocol.ApplicationClient, ipc.Identity{}, quick); f.Current() != addrs[0] {
			t.Errorf("%v begins with %s", addrs, f.Current())
		}
	}
	if f := c.Failover([]string{a.addr, b.addr}, protocol.HDFSClient, ipc.Identity{}, quick); f.Current() != a.addr {
		t.Errorf("another protocol begins with %s", f.Current())
	}
}

func TestFailoverFindsTheActiveOneAndStays(t *testing.T) {
	a, b := newMember(t, standby), newMember(t, nil)
	f := failover(t, quick, deadAddr(t), a.addr, b.addr)
	for range 5 {
		if err := clusterMetrics(testContext(t), f); err != nil {
			t.Fatal(err)
		}
	}
	if a.calls.Load() != 1 || b.calls.Load() != 5 || f.Current() != b.addr {
		t.Errorf("%d calls of the standby, %d of the active one; current is %s", a.calls.Load(), b.calls.Load(), f.Current())
	}
	// They change places.
	a.fail(nil)
	b.fail(standby)
	if err := clusterMetrics(testContext(t), f); err != nil || f.Current() != a.addr {
		t.Errorf("current is %s, %v", f.Current(), err)
	}
}

// The first round takes no pause at all, whatever the policy says.
func TestFirstFailoverIsAtOnce(t *testing.T) {
	b := newMember(t, nil)
	f := failover(t, ipc.RetryPolicy{Base: time.Hour, Max: time.Hour}, deadAddr(t), b.addr)
	if err := clusterMetrics(testContext(t), f); err != nil {
		t.Error(err)
	}
}

func TestManyCallsFailOverOnce(t *testing.T) {
	a, b := newMember(t, standby), newMember(t, nil)
	f := failover(t, quick, a.addr, b.addr)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := clusterMetrics(testContext(t), f); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f.Current() != b.addr || b.calls.Load() != 50 {
		t.Errorf("current is %s after %d calls of it", f.Current(), b.calls.Load())
	}
}

func TestRetriableStaysWithTheServer(t *testing.T) {
	a, b := newMember(t, ipc.NewException(ipc.RetriableException, "starting")), newMember(t, nil)
	a.healthy = 4
	f := failover(t, quick, a.addr, b.addr)
	if err := clusterMetrics(testContext(t), f); err != nil {
		t.Error(err)
	}
	if b.calls.Load() != 0 || f.Current() != a.addr {
		t.Errorf("%d calls of the other", b.calls.Load())
	}
}

func TestRefusalsReachTheCallerAtOnce(t *testing.T) {
	for _, class := range []string{
		ipc.AccessControlException, ipc.InvalidToken, ipc.ApplicationNotFound, ipc.YarnException, ipc.IOException,
	} {
		a, b := newMember(t, ipc.NewException(class, "no")), newMember(t, nil)
		f := failover(t, quick, a.addr, b.addr)
		if err := clusterMetrics(testContext(t), f); !ipc.IsClass(err, class) || a.calls.Load() != 1 || b.calls.Load() != 0 {
			t.Errorf("%s: got %v after %d and %d calls", class, err, a.calls.Load(), b.calls.Load())
		}
	}
}

// A server that closes the connection on a request may have carried it out; Hadoop fails over all the same. After any
// other failure only what is repeatable is sent again.
func TestLostConnections(t *testing.T) {
	b := newMember(t, nil)
	closing := fakeServer(t, func(c *rawConn) { c.request() })
	nonsense := fakeServer(t, func(c *rawConn) {
		c.request()
		c.send([]byte{0, 0, 0, 1, 0})
		c.request()
	})
	fail := func(to ipc.Invoker) error {
		_, err := protocol.FailApplicationAttempt.Call(testContext(t), to, &pb.FailApplicationAttemptRequest{})
		return err
	}
	if err := fail(failover(t, quick, closing, b.addr)); err != nil {
		t.Errorf("closed connection: %v", err)
	}
	if err := clusterMetrics(testContext(t), failover(t, quick, nonsense, b.addr)); err != nil {
		t.Errorf("nonsense, repeatable: %v", err)
	}
	c := (*ipc.ConnError)(nil)
	if err := fail(failover(t, quick, nonsense, b.addr)); !errors.As(err, &c) || !c.Sent {
		t.Errorf("nonsense, not repeatable: %v", err)
	}
}

func TestFailoverGivesUp(t *testing.T) {
	a := newMember(t, standby)
	p := quick
	p.MaxAttempts = 5
	if err := clusterMetrics(testContext(t), failover(t, p, a.addr)); !ipc.IsClass(err, ipc.StandbyException) ||
		a.calls.Load() != 5 || !strings.Contains(err.Error(), "5 tries") {
		t.Errorf("after some attempts: %v, %d calls", err, a.calls.Load())
	}
}

// Nobody listens in the bubble, so that time passes in pauses only.
func TestFailoverGivesUpInTime(t *testing.T) {
	refused := errors.New("refused")
	for _, x := range []struct {
		policy         ipc.RetryPolicy
		patience, took time.Duration // of the caller, and until it is told
		want           error
	}{
		{ipc.RetryPolicy{MaxElapsed: 30 * time.Millisecond, Base: time.Millisecond, Max: time.Millisecond}, time.Hour, 30 * time.Millisecond, refused},
		{ipc.RetryPolicy{MaxElapsed: time.Minute, Base: time.Hour}, time.Hour, 0, refused},
		// The caller's deadline wins over any policy, also in the middle of a pause.
		{ipc.RetryPolicy{Base: time.Millisecond}, 50 * time.Millisecond, 50 * time.Millisecond, context.DeadlineExceeded},
		{ipc.RetryPolicy{Base: time.Hour}, 50 * time.Millisecond, 50 * time.Millisecond, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			x.policy.Random = func() float64 { return 0.5 }
			client := newClient(t, ipc.ClientConfig{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }})
			ctx, cancel := context.WithTimeout(context.Background(), x.patience)
			defer cancel()
			start := time.Now()
			err := clusterMetrics(ctx, client.Failover([]string{"rm:1"}, protocol.ApplicationClient, ipc.Identity{User: "u"}, x.policy))
			if c := (*ipc.ConnError)(nil); !errors.Is(err, x.want) || !errors.As(err, &c) || time.Since(start) != x.took {
				t.Errorf("got %v after %v, want %v after %v", err, time.Since(start), x.want, x.took)
			}
		})
	}
}

// A standby that is asked with a token refuses the connection, not the call.
func TestFailoverWithTokens(t *testing.T) {
	key := newKey(t)
	_, first := serve(t, ipc.ServerConfig{
		Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}, Gate: func(string) error { return standby },
	}, whoAmI(nil))
	calls := make(chan ipc.Call, 1)
	_, second := serve(t, ipc.ServerConfig{Auth: ipc.AuthToken, Secrets: nmSecrets{key: key}}, whoAmI(calls))
	f := newClient(t, ipc.ClientConfig{}).
		Failover([]string{first, second}, protocol.ContainerManagement, ipc.Identity{}, quick)
	get := func() error {
		_, err := protocol.GetContainerStatuses.Call(testContext(t), f, &pb.GetContainerStatusesRequest{})
		return err
	}
	if err := get(); !ipc.IsClass(err, ipc.AccessControlException) {
		t.Errorf("without a token: %v", err)
	}
	f.SetIdentity(ipc.Identity{Token: nmToken(key)})
	if err := get(); err != nil || f.Current() != second {
		t.Errorf("with a token: %v", err)
	}
	wrong := *nmToken(key)
	wrong.Password = nil
	f.SetIdentity(ipc.Identity{Token: &wrong})
	if err := get(); !ipc.IsClass(err, ipc.SaslException) {
		t.Errorf("with a wrong token: %v", err)
	}
}

// Whoever waits for a server learns that, and why.
func TestFailoverTellsThatItWaits(t *testing.T) {
	addr := deadAddr(t)
	c := newClient(t, ipc.ClientConfig{})
	var told []error
	var longest time.Duration
	f := c.Failover([]string{addr}, ipc.Protocol{Name: "p", Version: 1}, ipc.Identity{User: "u"}, ipc.RetryPolicy{
		MaxAttempts: 4, Base: time.Millisecond,
		Waiting: func(err error, since time.Duration) { told, longest = append(told, err), max(longest, since) },
	})
	err := f.Invoke(t.Context(), ipc.Method{Protocol: ipc.Protocol{Name: "p", Version: 1}, Name: "m"}, &pb.GetServiceStatusRequest{}, &pb.GetServiceStatusResponse{})
	if err == nil || len(told) != 3 || longest <= 0 {
		t.Fatalf("%v; told %d times, at last after %v, want 3 for 4 tries", err, len(told), longest)
	}
	for _, e := range told {
		if !strings.Contains(e.Error(), "refused") || !strings.Contains(e.Error(), addr) {
			t.Errorf("told %v", e)
		}
	}
}
