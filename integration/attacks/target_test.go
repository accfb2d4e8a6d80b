package attacks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/integration/peer"
	"heddle/internal/await"
	"heddle/nm/proc"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

const (
	// memoryBound is the largest resident set that a daemon may ever have, in MB. Its ports may take portMemory each, twice.
	memoryBound = 1024
	portMemory  = 32
	// honest and hostile are two users that every system has, with their ids.
	honest, honestID   = "nobody", 65534
	hostile, hostileID = "games", 5
)

// target is the cluster that is attacked.
type target struct {
	*daemons.Cluster
	t      *testing.T
	binary string
	client *ipc.Client
	secret string // a file that only root may read
	realm  *realm // nil without Kerberos
}

const secretText = "this is for nobody's eyes but root's"

func newTarget(t *testing.T, r *realm) *target {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it takes root, as containers run as users")
	}
	// users must get to files below it, which they don't get to below t.TempDir
	dir, err := os.MkdirTemp("", "attacks")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	built, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	x := &target{t: t, binary: filepath.Join(dir, "heddle"), secret: filepath.Join(dir, "private", "secret"), realm: r}
	if err := os.Rename(built, x.binary); err != nil {
		t.Fatal(err)
	}
	write(t, x.secret, secretText, 0o600)
	if err := os.Chmod(filepath.Dir(x.secret), 0o700); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(dir, "cluster-secret")
	write(t, shared, "a secret that all daemons of this cluster share", 0o600)
	for _, d := range []string{"work", "staging"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, d), 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	set := map[string]string{
		"heddle.cluster.secret-file":                                           shared,
		"yarn.nodemanager.container-executor.class":                            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
		"heddle.container.allowed-system-users":                                hostile,
		"heddle.port.memory-mb":                                                strconv.Itoa(portMemory),
		"heddle.cgroup.root":                                                   "/" + filepath.Base(dir),
		"yarn.nodemanager.aux-services":                                        "mapreduce_shuffle",
		"yarn.acl.enable":                                                      "true",
		"yarn.admin.acl":                                                       "root",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms":              "200",
		"yarn.scheduler.minimum-allocation-mb":                                 "256",
		"yarn.scheduler.capacity.maximum-am-resource-percent":                  "1",
		"yarn.scheduler.capacity.root.queues":                                  "default,jobs",
		"yarn.scheduler.capacity.root.default.capacity":                        "50",
		"yarn.scheduler.capacity.root.default.maximum-capacity":                "60",
		"yarn.scheduler.capacity.root.jobs.capacity":                           "50",
		// long, so that nobody loses the leadership because other tests keep the machine busy
		"heddle.raft.heartbeat-timeout-ms":                     "1000",
		"heddle.raft.election-timeout-ms":                      "1000",
		"heddle.raft.lease-timeout-ms":                         "800",
		"yarn.scheduler.capacity.root.acl_submit_applications": "*",
		"yarn.scheduler.capacity.root.acl_administer_queue":    " ",
	}
	options := daemons.Options{Binary: x.binary, Dir: dir, ResourceManagers: 3, NodeManagers: 2, Memory: 8192, Direct: true, Set: set}
	client := ipc.ClientConfig{CallTimeout: time.Minute}
	if r != nil {
		r.secure(t, &options)
		client.Protection = options.Protection
	}
	x.Cluster = cluster.New(t, options)
	x.client = ipc.NewClient(client)
	t.Cleanup(x.client.Close)
	x.start()
	return x
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func (x *target) start() {
	x.t.Helper()
	if err := x.StartAll(); err != nil {
		x.t.Fatal(err)
	}
	await.Slowly(x.t, "both nodes are active", func() bool { return x.nodes() == 2 })
}

// nodes is how many are active.
func (x *target) nodes() int {
	req := &pb.GetClusterNodesRequest{}
	req.SetNodeStates([]pb.NodeState{pb.NodeState_NS_RUNNING})
	resp, err := protocol.GetClusterNodes.Call(x.t.Context(), x.as(honest), req)
	if err != nil {
		return 0
	}
	return len(resp.GetNodeReports())
}

// who is a user, who proves it where there is Kerberos.
func (x *target) who(user string) ipc.Identity {
	if x.realm == nil {
		return ipc.Identity{User: user}
	}
	return x.realm.of(user)
}

// as is somebody's view of the ResourceManager.
func (x *target) as(user string) ipc.Invoker {
	return x.to(rm.ClientAddress, protocol.ApplicationClient, x.who(user))
}

// to is a port of the ResourceManager that leads.
func (x *target) to(key string, p ipc.Protocol, who ipc.Identity) ipc.Invoker {
	return x.client.Failover(x.Addresses(key), p, who, ipc.RetryPolicy{MaxElapsed: 30 * time.Second, MaxAttempts: 100, Base: 20 * time.Millisecond, Max: time.Second})
}

// leader is the name of the ResourceManager that leads.
func (x *target) leader() string {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	id, err := x.Leader(ctx, "")
	if err != nil {
		x.t.Fatal(err)
	}
	return id
}

// in is the same cluster in a part of the test.
func (x *target) in(t *testing.T) *target {
	y := *x
	y.t = t
	return &y
}

func must[Req, Resp any](x *target, m protocol.Method[Req, Resp], to ipc.Invoker, req *Req) *Resp {
	x.t.Helper()
	resp, err := m.Call(x.t.Context(), to, req)
	if err != nil {
		x.t.Fatalf("%v: %v", m.Method, err)
	}
	return resp
}

// refused checks that a call is answered with an exception.
func refused[Req, Resp any](x *target, what string, m protocol.Method[Req, Resp], to ipc.Invoker, req *Req) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	if resp, err := m.Call(ctx, to, req); err == nil {
		x.t.Errorf("%s got in: %v", what, resp)
	} else if ctx.Err() != nil {
		x.t.Errorf("%s got no answer: %v", what, err)
	}
}

// unharmed checks that daemons still serve, and that none has ended.
func (x *target) unharmed() {
	x.t.Helper()
	must(x, protocol.GetClusterMetrics, x.as(honest), &pb.GetClusterMetricsRequest{})
	for _, e := range x.Ended() {
		x.t.Errorf("%v", e)
	}
	await.Slowly(x.t, "both nodes are active", func() bool { return x.nodes() == 2 })
}

// memory checks the peak of every daemon's resident set.
func (x *target) memory() {
	x.t.Helper()
	for _, name := range x.Daemons() {
		peak, err := proc.PeakMemory(x.PID(name))
		if err != nil {
			x.t.Error(err)
			continue
		}
		x.t.Logf("%s has used at most %d MB", name, peak>>20)
		if peak == 0 || peak>>20 > memoryBound {
			x.t.Errorf("%s has used %d MB; %d are allowed", name, peak>>20, memoryBound)
		}
	}
}

// jobs runs honest jobs one after the other until stop is called, which returns how many there were.
func (x *target) jobs() (stop func() int) {
	done := make(chan struct{})
	count := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			x.job(count)
			count++
			select {
			case <-done:
				return
			default:
			}
		}
	})
	return func() int {
		close(done)
		wg.Wait()
		return count
	}
}

// job runs a job as an honest user, and compares its result.
func (x *target) job(n int) {
	in, out := filepath.Join(x.Dir(), "input"), filepath.Join(x.Dir(), "work", fmt.Sprintf("out%d", n))
	const lines = 3000
	if err := os.MkdirAll(in, 0o755); err != nil {
		x.t.Error(err)
		return
	}
	if err := os.WriteFile(filepath.Join(in, "text"), []byte(strings.Repeat("a word\n", lines)), 0o644); err != nil {
		x.t.Error(err)
		return
	}
	cmd := exec.Command(x.binary, "mr", "-D", "mapreduce.job.queuename=jobs", "-D", "mapreduce.input.fileinputformat.split.maxsize=8000", "-D", "mapreduce.map.memory.mb=512",
		"-D", "mapreduce.reduce.memory.mb=512", "-D", "yarn.app.mapreduce.am.resource.mb=512",
		"-input", "file://"+in, "-output", "file://"+out, "-mapper", "cat", "-reducer", "uniq -c", "-numReduceTasks", "1")
	cmd.Dir = "/"
	cmd.Env = []string{"HADOOP_CONF_DIR=" + x.Conf(), "PATH=" + os.Getenv("PATH"), "HADOOP_USER_NAME=" + honest, "HOME=/nonexistent"}
	cmd.Env = append(cmd.Env, x.realm.environment(honest)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: honestID, Gid: honestID}}
	if said, err := cmd.CombinedOutput(); err != nil {
		x.t.Errorf("an honest job failed: %v\n%s", err, said)
		return
	}
	got, err := os.ReadFile(filepath.Join(out, "part-00000"))
	if fields := strings.Fields(string(got)); err != nil || len(fields) < 1 || fields[0] != strconv.Itoa(lines) {
		x.t.Errorf("an honest job's result is %q (%v); there are %d lines", got, err, lines)
	}
}

// master is an ApplicationMaster that nobody launched: this test.
type master struct {
	*peer.Master
	*target
	user string
	id   records.ApplicationID
}

func (x *target) submission(user string) *pb.ApplicationSubmissionContext {
	x.t.Helper()
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(must(x, protocol.GetNewApplication, x.as(user), &pb.GetNewApplicationRequest{}).GetApplicationId())
	ctx.SetApplicationName(x.t.Name())
	ctx.SetUnmanagedAm(true)
	ctx.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	ctx.SetResource(records.ResourceTypes{}.PB(records.NewResource(256, 1)))
	return ctx
}

// unmanaged submits an application and registers as its ApplicationMaster.
func (x *target) unmanaged(user string) *master {
	x.t.Helper()
	ctx := x.submission(user)
	m := &master{x.wire().Unmanaged(x.t, user, ctx), x, user, records.ApplicationIDFrom(ctx.GetApplicationId())}
	x.t.Cleanup(m.kill)
	return m
}

// wire is how an ApplicationMaster reaches the cluster.
func (x *target) wire() peer.Ports {
	return peer.Ports{
		Client: x.as,
		Master: func(t token.Token) ipc.Invoker {
			return x.to(rm.MasterAddress, protocol.ApplicationMaster, ipc.Identity{Token: &t})
		},
		Node: func(node records.NodeID, t token.Token) ipc.Invoker {
			return x.client.Endpoint(node.String(), protocol.ContainerManagement, ipc.Identity{Token: &t})
		},
	}
}

// kill ends the application, so that the next attack finds room.
func (m *master) kill() { m.killAs(m.user, m.id) }

func (x *target) killAs(user string, id records.ApplicationID) {
	req := &pb.KillApplicationRequest{}
	req.SetApplicationId(id.PB())
	await.Slowly(x.t, "the application is killed", func() bool {
		resp, err := protocol.ForceKillApplication.Call(context.Background(), x.as(user), req)
		return err == nil && resp.GetIsKillCompleted()
	})
}

// container gets one.
func (m *master) container() *pb.Container {
	m.t.Helper()
	return m.Granted(1, records.NewResource(256, 1))[0]
}

// launch is the request to start a container.
func launch(c *pb.Container, resources map[string]*pb.LocalResource, command ...string) *pb.StartContainersRequest {
	spec := peer.Command(command...)
	for name, r := range resources {
		m := &pb.StringLocalResourceMap{}
		m.SetKey(name)
		m.SetValue(r)
		spec.SetLocalResources(append(spec.GetLocalResources(), m))
	}
	return peer.Launch(c.GetContainerToken(), spec)
}

// ended waits for the end of a container, and returns what is told of it.
func (m *master) ended(c *pb.Container) *pb.ContainerStatus {
	m.t.Helper()
	return m.Ended(records.ContainerIDFrom(c.GetId()))
}
