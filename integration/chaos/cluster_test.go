package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/ports"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// heddle is the binary under test.
var heddle string

func TestMain(m *testing.M) {
	path, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	heddle = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// cluster is three ResourceManager processes. Their raft connections go through a switch in the test, which can cut any of
// them off from the others: members are told addresses at 127.0.0.2, where the switch listens, and listen themselves on the
// same ports at 127.0.0.1.
type cluster struct {
	tb    testing.TB
	dir   string
	ids   []string
	ports map[string]map[string]int // by id and configuration key
	raft  map[string]int
	plug  *patch

	client *ipc.Client
	mu     sync.Mutex
	procs  map[string]*exec.Cmd
}

func newCluster(tb testing.TB) *cluster {
	tb.Helper()
	c := &cluster{
		tb: tb, dir: tb.TempDir(), ids: []string{"rm1", "rm2", "rm3"},
		ports: map[string]map[string]int{}, raft: map[string]int{}, procs: map[string]*exec.Cmd{},
		client: ipc.NewClient(ipc.ClientConfig{ConnectTimeout: time.Second, CallTimeout: 3 * time.Second}),
	}
	keys := []string{rm.ClientAddress, rm.MasterAddress, rm.TrackerAddress, rm.AdminAddress, rm.WebAddress}
	free, release, err := ports.Free(len(c.ids) * (len(keys) + 1))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	for _, id := range c.ids {
		c.ports[id] = map[string]int{}
		for i, key := range keys {
			c.ports[id][key] = free[i]
		}
		c.raft[id] = free[len(keys)]
		free = free[len(keys)+1:]
	}
	c.writeConf()
	c.plug = newPatch(tb, c.raft)
	tb.Cleanup(func() {
		c.client.Close()
		for _, id := range c.ids {
			c.kill(id)
		}
		c.plug.close()
		if tb.Failed() {
			c.showLogs()
		}
	})
	for _, id := range c.ids {
		c.start(id)
	}
	return c
}

func (c *cluster) writeConf() {
	c.tb.Helper()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	set := func(k, v string) { fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, v) }
	set("yarn.resourcemanager.ha.enabled", "true")
	set("yarn.resourcemanager.ha.rm-ids", strings.Join(c.ids, ","))
	set("yarn.resourcemanager.cluster-id", "chaos")
	set("yarn.resourcemanager.bind-host", "127.0.0.1")
	set("heddle.state.dir", filepath.Join(c.dir, "state"))
	set("heddle.raft.snapshot-threshold", "500")
	set("heddle.raft.snapshot-interval-ms", "500")
	for _, id := range c.ids {
		for key, port := range c.ports[id] {
			set(key+"."+id, fmt.Sprintf("127.0.0.1:%d", port))
		}
		set("heddle.raft.address."+id, fmt.Sprintf("127.0.0.2:%d", c.raft[id]))
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(filepath.Join(c.dir, "yarn-site.xml"), []byte(b.String()), 0o600); err != nil {
		c.tb.Fatal(err)
	}
	if r := conf.Check(c.dir); !r.OK() {
		c.tb.Fatal(r.Err())
	}
}

func (c *cluster) start(id string) {
	c.tb.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, id+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.tb.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(heddle, "rm", "--conf", c.dir, "--id", id)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		c.tb.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.procs[id] = cmd
}

func (c *cluster) signal(id string, s os.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.procs[id]; p != nil {
		_ = p.Process.Signal(s)
	}
}

// kill ends a ResourceManager as a power cut would.
func (c *cluster) kill(id string) {
	c.mu.Lock()
	p := c.procs[id]
	delete(c.procs, id)
	c.mu.Unlock()
	if p != nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

func (c *cluster) showLogs() {
	for _, id := range c.ids {
		raw, err := os.ReadFile(filepath.Join(c.dir, id+".log"))
		if err != nil {
			continue
		}
		c.tb.Logf("%s said at last: %s", id, raw[max(0, len(raw)-4000):])
		if at := strings.Index(string(raw), "panic:"); at >= 0 {
			c.tb.Logf("%s panicked: %s", id, raw[at:min(len(raw), at+4000)])
		}
	}
}

// addrs are the addresses of a port of all members.
func (c *cluster) addrs(key string) []string {
	var out []string
	for _, id := range c.ids {
		out = append(out, fmt.Sprintf("127.0.0.1:%d", c.ports[id][key]))
	}
	return out
}

// leader asks every member whether it leads, until one does; other than the one to be passed over.
func (c *cluster) leader(other string) string {
	c.tb.Helper()
	return await.Value(c.tb, "somebody leads", func() (string, bool) {
		i := slices.IndexFunc(c.ids, func(id string) bool { return id != other && c.leads(id) })
		if i < 0 {
			return "", false
		}
		return c.ids[i], true
	})
}

func (c *cluster) leads(id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	addr := fmt.Sprintf("127.0.0.1:%d", c.ports[id][rm.AdminAddress])
	ep := c.client.Endpoint(addr, protocol.HAService, ipc.Identity{User: "root"})
	s, err := protocol.GetServiceStatus.Call(ctx, ep, &pb.GetServiceStatusRequest{})
	return err == nil && s.GetState() == pb.HAServiceState_ACTIVE
}

// patch is the switch between the members: it knows from raft's greeting who dials, and drops what passes between members
// of which one is cut off.
type patch struct {
	listeners []net.Listener
	wg        sync.WaitGroup

	mu  sync.Mutex
	cut map[string]bool
	all map[*link]bool
}

type link struct {
	from, to string
	a, b     net.Conn
}

func newPatch(tb testing.TB, ports map[string]int) *patch {
	tb.Helper()
	p := &patch{cut: map[string]bool{}, all: map[*link]bool{}}
	for id, port := range ports {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", port))
		if err != nil {
			tb.Fatal(err)
		}
		p.listeners = append(p.listeners, l)
		p.wg.Go(func() { p.serve(l, id, port) })
	}
	return p
}

func (p *patch) serve(l net.Listener, to string, port int) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.wg.Go(func() { p.carry(c, to, port) })
		}
	}
}

func (p *patch) carry(c net.Conn, to string, port int) {
	defer c.Close()
	in := bufio.NewReader(c)
	hello, err := in.ReadString('\n')
	if err != nil {
		return
	}
	words := strings.Fields(hello)
	k := &link{from: words[len(words)-1], to: to, a: c}
	if p.isCut(k) {
		return
	}
	if k.b, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
		return
	}
	defer k.b.Close()
	if !p.add(k) {
		return
	}
	defer p.remove(k)
	if _, err := io.WriteString(k.b, hello); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(k.b, in); k.close() })
	both.Go(func() { _, _ = io.Copy(c, k.b); k.close() })
	both.Wait()
}

func (k *link) close() {
	_ = k.a.Close()
	_ = k.b.Close()
}

func (p *patch) isCut(k *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[k.from] || p.cut[k.to]
}

func (p *patch) add(k *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut[k.from] || p.cut[k.to] {
		return false
	}
	p.all[k] = true
	return true
}

func (p *patch) remove(k *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, k)
}

// isolate cuts a member off from the others; join undoes it.
func (p *patch) isolate(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut[id] = true
	for k := range p.all {
		if k.from == id || k.to == id {
			k.close()
		}
	}
}

func (p *patch) join(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cut, id)
}

func (p *patch) close() {
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.mu.Lock()
	for k := range p.all {
		k.close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}
