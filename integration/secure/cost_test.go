package secure

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/caller"
	"heddle/conf/rpc"
	"heddle/conf/secure"
	"heddle/integration/hadooplab"
	"heddle/integration/load"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// cost is what a group of three members was measured to do.
type cost struct {
	load.Result
	failover time.Duration // from the end of the leader to the next answer
	logins   int           // AS-REQ at the KDC
	tickets  int           // TGS-REQ
	each     time.Duration // processor time of a grant: of the ResourceManagers, and of the nodes and ApplicationMasters of the load
}

// What security costs: the same load on groups without Kerberos and with each protection, in turns. It prints a table for docs/performance.md. Grants with Kerberos come
// at least at a third of the rate without, also on a busy machine.
func TestCost(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const rounds = 3
	modes := []string{"simple", "authentication", "integrity", "privacy", asJava}
	all := map[string][]cost{}
	for i := range rounds {
		for k := range modes { // no mode always comes first, as what else runs on the machine changes
			mode := modes[(i+k)%len(modes)]
			t.Run(mode, func(t *testing.T) { all[mode] = append(all[mode], measure(t, mode)) })
		}
	}
	best, least := map[string]float64{}, map[string]time.Duration{}
	for _, mode := range modes {
		for _, c := range all[mode] {
			best[mode] = max(best[mode], c.PerSecond)
			if least[mode] == 0 || c.each < least[mode] {
				least[mode] = c.each
			}
			t.Logf("%-14s %6.0f grants/s, %v of a processor each, ask to grant p50 %v p99 %v, heartbeats p99 %v, failover %v, %d AS and %d TGS requests", mode, c.PerSecond, c.each.Round(100*time.Nanosecond), c.Latency.P50.Round(100*time.Microsecond),
				c.Latency.P99.Round(100*time.Microsecond), c.Heartbeats.P99.Round(100*time.Microsecond), c.failover.Round(time.Millisecond), c.logins, c.tickets)
		}
	}
	for _, mode := range modes {
		if best[mode] < best["simple"]/3 && mode != asJava {
			t.Errorf("%s: %.0f grants/s at best, and %.0f without Kerberos", mode, best[mode], best["simple"])
		}
		t.Logf("%s: at least %v of a processor for a grant, %+.0f %%", mode, least[mode], 100*(least[mode].Seconds()/least["simple"].Seconds()-1))
	}
}

// asJava is privacy with ApplicationMasters that encrypt as Hadoop's do.
const asJava = "privacy, 3des"

// loaded starts a group of three members with a mode of protection, and sets what its load proves.
func loaded(t *testing.T, mode string, o *load.Options) (r *realm, l *hadooplab.Lab, user ipc.Identity) {
	t.Helper()
	var site map[string]string
	if mode == "simple" {
		site = map[string]string{"yarn.nodemanager.vmem-check-enabled": "false"}
	} else {
		r = newRealm(t, 10*time.Hour)
		site = maps.Clone(r.site)
		site["hadoop.rpc.protection"], _, _ = strings.Cut(mode, ",")
	}
	l = hadooplab.Start(t, hadooplab.Options{ResourceManager: true, ResourceManagers: 3, Heddle: heddle, Site: site})
	cfg, err := conf.Load(conf.Options{Dir: l.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Address(cfg); err != nil {
		t.Fatal(err)
	}
	who, err := caller.Of(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if o.User = who.User; r != nil {
		o.Secure = identities(t, cfg, who.Identity)
		o.Secure.AsJava = mode == asJava
	}
	return r, l, who.Identity
}

// Ten thousand nodes register by Kerberos, and each heartbeats once a second, all encrypted.
func TestTenThousandSecuredNodes(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	o := load.Options{
		Queue: "default", Nodes: 10_000, NodeResource: records.NewResource(131072, 128), Heartbeat: time.Second, Masters: 8, Container: records.NewResource(1024, 1), Rate: 1000,
		Interval: time.Second / 4, Warmup: 10 * time.Second, Duration: 20 * time.Second,
	}
	r, _, _ := loaded(t, "privacy", &o)
	got, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, tickets := requests(r.Log(), "nm/localhost@"+r.Realm)
	t.Logf("%.0f heartbeats/s, p50 %v p99 %v; %.0f grants/s, p99 %v; %d tickets of the ResourceManager for all nodes", got.BeatsPerSecond, got.Heartbeats.P50, got.Heartbeats.P99, got.PerSecond, got.Latency.P99, tickets)
	if got.BeatsPerSecond < 5000 || got.Heartbeats.P99 > 5*time.Second {
		t.Errorf("%.0f heartbeats a second, p99 %v", got.BeatsPerSecond, got.Heartbeats.P99)
	}
}

func measure(t *testing.T, mode string) (c cost) {
	o := load.Options{
		Queue: "default", Nodes: 100, NodeResource: records.NewResource(131072, 128), Heartbeat: time.Second, Masters: 8, Container: records.NewResource(1024, 1), Outstanding: 100,
		Warmup: 3 * time.Second, Duration: 8 * time.Second,
	}
	r, l, user := loaded(t, mode, &o)
	var err error
	before := processorTime(t, l)
	if c.Result, err = load.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	whole := float64(o.Warmup+o.Duration) / float64(o.Duration) // the warm-up grants, too
	c.each = time.Duration(float64(processorTime(t, l)-before) / whole / float64(max(c.Grants, 1)))
	c.failover = takeover(t, l, o, user)
	if r != nil {
		for line := range strings.Lines(r.Log()) {
			switch {
			case !strings.Contains(line, ": ISSUE:"):
			case strings.Contains(line, "TGS_REQ"):
				c.tickets++
			case strings.Contains(line, "AS_REQ"):
				c.logins++
			}
		}
	}
	return c
}

// identities returns what the peers of a load have in a realm.
func identities(t *testing.T, cfg *conf.Config, user ipc.Identity) *load.Secure {
	t.Helper()
	account, err := secure.NodeManager(cfg)
	if err != nil {
		t.Fatal(err)
	}
	login, err := account.Login()
	if err != nil {
		t.Fatal(err)
	}
	tickets, err := secure.ForResourceManagers(cfg, login)
	if err != nil {
		t.Fatal(err)
	}
	protection, err := rpc.Protection(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &load.Secure{User: user, Nodes: ipc.Identity{User: login.Principal(), Kerberos: tickets}, Protection: protection}
}

// takeover kills the leader, and returns how long it takes until a client has an answer.
func takeover(t *testing.T, l *hadooplab.Lab, o load.Options, who ipc.Identity) time.Duration {
	t.Helper()
	var protection ipc.ClientConfig
	if o.Secure != nil {
		protection.Protection = o.Secure.Protection
	}
	client := ipc.NewClient(protection)
	t.Cleanup(client.Close)
	leads := func(at string) bool {
		_, err := protocol.GetClusterMetrics.Call(t.Context(), client.Endpoint(at, protocol.ApplicationClient, who), &pb.GetClusterMetricsRequest{})
		return err == nil
	}
	leader := await.Value(t, "a member leads", func() (int, bool) {
		i := slices.IndexFunc(o.Client, leads)
		return i, i >= 0
	})
	l.Daemon(fmt.Sprintf("resourcemanager%d", leader+1)).Kill()
	killed := time.Now()
	rest := slices.Delete(slices.Clone(o.Client), leader, leader+1)
	await.Until(t, "another member leads", func() bool { return slices.ContainsFunc(rest, leads) })
	return time.Since(killed)
}

// processorTime returns that of this process and of the ResourceManagers.
func processorTime(t *testing.T, l *hadooplab.Lab) time.Duration {
	t.Helper()
	pids := []int{os.Getpid()}
	for i := range 3 {
		pids = append(pids, l.Daemon(fmt.Sprintf("resourcemanager%d", i+1)).PID())
	}
	var sum time.Duration
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from the third of proc_pid_stat(5)
		for _, ticks := range f[11:13] {
			n, err := strconv.Atoi(ticks)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}
