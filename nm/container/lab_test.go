package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/internal/userfiles"
	"heddle/nm/allocation"
	"heddle/nm/application"
	"heddle/nm/cgroup"
	"heddle/nm/deletion"
	"heddle/nm/disks"
	"heddle/nm/enclosure"
	"heddle/nm/gpu"
	"heddle/nm/localizer"
	"heddle/nm/monitor"
	"heddle/nm/proc"
	"heddle/nm/store"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("CONTAINER_TEST_NODE"); dir != "" {
		runNode(dir)
	}
	if size := os.Getenv(rememberVariable); size != "" {
		remember(size)
		return
	}
	os.Exit(await.NoGoroutines(m.Run()))
}

// lab is a node without the wire: everything below the service is real.
type lab struct {
	t     testing.TB
	dir   string
	node  *node
	tweak func(*Options)
	app   int32 // of the container of counter, 1 if it is 0. Where labs run side by side, each needs its own
}

// node is one life of a NodeManager.
type node struct {
	*Manager
	monitor *monitor.Monitor
	state   *store.Store
	loc     *localizer.Localizer
	logs    *fakeLogs
	aux     *fakeAux
	handler cgroup.Handler
	cancel  context.CancelFunc
	running sync.WaitGroup
	changes chan struct{}
}

// grace is long enough for whoever heeds a SIGTERM on a machine that stands still for a while; others are given brief.
const (
	grace = 5 * time.Second
	brief = 250 * time.Millisecond
)

func newLab(t testing.TB, tweak ...func(*Options)) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir(), tweak: func(o *Options) {
		for _, f := range tweak {
			f(o)
		}
	}}
	l.start()
	t.Logf("cgroups %s real", l.node.Groups.Kind())
	t.Cleanup(func() {
		if l.node != nil {
			l.shutdown()
		}
		l.checkNothingLeft()
	})
	return l
}

// openState opens the state of a node that doesn't run.
func (l *lab) openState() *store.Store {
	l.t.Helper()
	s, err := store.Open(l.dir + "/state")
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func labID(dir string) string { return "container-test" + strings.ReplaceAll(dir, "/", "_") }

func (l *lab) start() {
	l.t.Helper()
	n, err := startNode(l.dir, l.tweak)
	if err != nil {
		l.t.Fatal(err)
	}
	l.node = n
}

// startNode assembles a node with its state in dir.
func startNode(dir string, tweak func(*Options)) (n *node, err error) {
	logger := logrus.New()
	logger.Out = io.Discard
	if os.Getenv("LAB_LOG") != "" {
		logger.Out = os.Stderr
		logger.Level = logrus.DebugLevel
	}
	log := logrus.NewEntry(logger)
	n = &node{logs: newFakeLogs(), aux: &fakeAux{}, changes: make(chan struct{}, 1), cancel: func() {}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("start node: %w", err)
			n.close()
		}
	}()
	if n.state, err = store.Open(dir + "/state"); err != nil {
		return n, err
	}
	d, err := disks.New(disks.Config{Local: []string{dir + "/local1", dir + "/local2"}, Logs: []string{dir + "/log1", dir + "/log2"}}, log, nil)
	if err != nil {
		return n, err
	}
	deleter, err := deletion.New(deletion.Options{
		Roots: []string{dir + "/local1", dir + "/local2"}, Workers: 2, Bucket: n.state.Bucket("deletion"), Log: log,
	})
	if err != nil {
		return n, err
	}
	owner := func(user string) (*userfiles.User, error) { return n.owner(user) }
	n.loc, err = localizer.New(localizer.Config{
		Dirs: d.Local, Source: localizer.LocalFiles{Owner: owner}, Owner: owner, Store: n.state.Bucket("localizer"), Log: log,
	})
	if err != nil {
		return n, err
	}
	if err := n.loc.Recover(); err != nil {
		return n, err
	}
	if n.handler, err = cgroup.Detect(cgroup.Options{ID: labID(dir), Log: log}); err != nil {
		return n, err
	}
	o := Options{
		Config: Config{
			Node: records.NodeID{Host: "node1", Port: 4545}, HTTPPort: 8042,
			Rules: enclosure.Rules{Resource: records.NewResource(8192, 8), Cores: 2, LimitMemory: true},
			Home:  "/home/", EnvWhitelist: []string{"LANG", "JAVA_HOME"}, AdminEnv: "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX",
			Environ: func(name string) (string, bool) {
				v, ok := map[string]string{"LANG": "own LANG"}[name]
				return v, ok
			}, DebugInfo: true,
			KillGrace: grace, KillWait: 5 * time.Second, StderrPattern: "{*stderr*,*STDERR*}", StderrTail: 4096,
			MaxDiagnostics: 10000, RetryMinimum: time.Millisecond, TrackStopped: time.Minute,
		},
		Disks: d, Groups: n.handler, Localizer: n.loc, Logs: n.logs, Aux: n.aux, Deleter: deleter, Log: log,
		ContainerRecords: n.state.Bucket("containers"), StoppedRecords: n.state.Bucket("stopped"), AppRecords: n.state.Bucket("apps"),
		Changed: func() {
			select {
			case n.changes <- struct{}{}:
			default:
			}
		},
	}
	if tweak != nil {
		tweak(&o)
	}
	n.Manager = NewManager(o)
	n.Manager.Observed = steps.note
	n.monitor = n.watch(monitor.Config{PhysicalCheck: true, VirtualRatio: 2.1})
	if err := n.Recover(); err != nil {
		return n, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.running.Go(func() { deleter.Run(ctx) })
	return n, nil
}

// watch returns a monitor of the node's containers.
func (n *node) watch(cfg monitor.Config) *monitor.Monitor {
	cfg.Interval, cfg.ByKernel = time.Second, n.cfg.LimitMemory && n.Groups.Capabilities().MemoryLimit
	return monitor.New(n.Manager, cfg, n.Log)
}

// close ends a life without ending a container, as far as one process can do that.
func (n *node) close() {
	if n.Manager != nil {
		n.Close()
	}
	n.cancel()
	n.running.Wait()
	if n.loc != nil {
		n.loc.Close()
	}
	if n.handler != nil {
		n.handler.Close()
	}
	if n.state != nil {
		n.state.Close()
	}
}

func (l *lab) restart() {
	l.t.Helper()
	l.node.close()
	l.node = nil
	l.start()
}

func (l *lab) shutdown() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.node.KillAll(ctx, records.ExitAborted, "the test is over\n"); err != nil {
		l.t.Error(err)
	}
	for _, app := range l.node.Applications() {
		l.node.FinishApplication(app.ID, "the test is over")
	}
	await.Until(l.t, "the end of all applications", func() bool { return len(l.node.Applications()) == 0 })
	l.node.close()
	l.node = nil
}

// checkNothingLeft asserts that neither processes nor groups outlive a test.
func (l *lab) checkNothingLeft() {
	l.t.Helper()
	found, err := filepath.Glob("/sys/fs/cgroup/*/heddle/nm-" + strings.Trim(strings.NewReplacer("/", "_").Replace(labID(l.dir)), "") + "*")
	if err != nil || len(found) > 0 {
		l.t.Errorf("groups left: %q, %v", found, err)
	}
	table, err := proc.Snapshot()
	if err != nil {
		l.t.Fatal(err)
	}
	table.All(func(p proc.Process) bool {
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID)); err == nil && strings.HasPrefix(cwd, l.dir) {
			l.t.Errorf("process %d is left, in %s", p.PID, cwd)
		}
		return true
	})
}

type fakeLogs struct {
	mu       sync.Mutex
	started  map[records.ApplicationID]application.Info
	running  map[records.ContainerID]bool
	finished map[records.ContainerID]int
	ended    []records.ApplicationID
}

func newFakeLogs() *fakeLogs {
	return &fakeLogs{running: make(map[records.ContainerID]bool), started: make(map[records.ApplicationID]application.Info), finished: make(map[records.ContainerID]int)}
}

func (f *fakeLogs) StartApplication(app application.Info) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started[app.ID] = app
	return nil
}

func (f *fakeLogs) ContainerStarted(g allocation.Grant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[g.ID] = true
}

func (f *fakeLogs) ContainerFinished(g allocation.Grant, exitCode int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished[g.ID] = exitCode
}

func (f *fakeLogs) FinishApplication(_ context.Context, app records.ApplicationID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, app)
	return nil
}

type fakeAux struct {
	mu      sync.Mutex
	data    []string
	stopped []records.ApplicationID

	containers []string // which were started and stopped
}

func (*fakeAux) Metadata() map[string][]byte {
	return map[string][]byte{"mapreduce_shuffle": {0, 0, 0x34, 0xfa}}
}

func (f *fakeAux) StartContainer(g allocation.Grant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.containers = append(f.containers, "start "+g.ID.String())
}

func (f *fakeAux) StopContainer(g allocation.Grant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.containers = append(f.containers, "stop "+g.ID.String())
}

func (f *fakeAux) StartApplication(_ context.Context, service string, app records.ApplicationID, user string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = append(f.data, fmt.Sprintf("%s %s %s %s", service, app, user, data))
}

func (f *fakeAux) StopApplication(app records.ApplicationID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = append(f.stopped, app)
}

// stamp is in the ids of containers. Only a test and its children share it, since without cgroups the processes of containers are
// found by their ids, machine-wide.
var stamp = func() int64 {
	const name = "CONTAINER_TEST_STAMP"
	if s, err := strconv.ParseInt(os.Getenv(name), 10, 64); err == nil {
		return s
	}
	s := 1795253712790 + int64(os.Getpid())
	if err := os.Setenv(name, strconv.FormatInt(s, 10)); err != nil {
		panic(err)
	}
	return s
}()

func appID(n int32) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: stamp, ID: n}
}

func containerID(app int32, n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: appID(app), Attempt: 1}, ID: n}
}

// job is a container to start.
type job struct {
	id        records.ContainerID
	user      string
	memory    int64
	command   string
	env       map[string]string
	resources map[string]*pb.LocalResource
	retry     *pb.ContainerRetryContext
	service   map[string]string
	tokens    []byte
	gpus      int64

	opportunistic bool
}

func (j job) context() *pb.ContainerLaunchContext {
	lc := &pb.ContainerLaunchContext{}
	lc.SetCommand([]string{j.command})
	lc.SetTokens(j.tokens)
	var env []*pb.StringStringMap
	for _, k := range slices.Sorted(maps.Keys(j.env)) {
		e := &pb.StringStringMap{}
		e.SetKey(k)
		e.SetValue(j.env[k])
		env = append(env, e)
	}
	lc.SetEnvironment(env)
	var rs []*pb.StringLocalResourceMap
	for _, k := range slices.Sorted(maps.Keys(j.resources)) {
		r := &pb.StringLocalResourceMap{}
		r.SetKey(k)
		r.SetValue(j.resources[k])
		rs = append(rs, r)
	}
	lc.SetLocalResources(rs)
	var services []*pb.StringBytesMap
	for k, v := range j.service {
		s := &pb.StringBytesMap{}
		s.SetKey(k)
		s.SetValue([]byte(v))
		services = append(services, s)
	}
	lc.SetServiceData(services)
	if j.retry != nil {
		lc.SetContainerRetryContext(j.retry)
	}
	return lc
}

// token returns the identifier that a ResourceManager would have made.
func (j job) token(version int32) []byte {
	t := &pb.ContainerTokenIdentifier{}
	t.SetContainerId(j.id.PB())
	t.SetAppSubmitter(j.user)
	r := records.NewResource(j.memory, 1)
	if i, ok := j.types().Index(gpu.Type); ok {
		r[i] = j.gpus
	}
	t.SetResource(j.types().PB(r))
	t.SetCreationTime(time.Now().UnixMilli())
	t.SetVersion(version)
	t.SetContainerType(pb.ContainerType_TASK)
	if j.opportunistic {
		t.SetExecutionType(pb.ExecutionType_OPPORTUNISTIC)
	}
	b, err := proto.Marshal(t)
	if err != nil {
		panic(err)
	}
	return b
}

func (j job) grant(version int32) allocation.Grant {
	var id pb.ContainerTokenIdentifier
	if err := proto.Unmarshal(j.token(version), &id); err != nil {
		panic(err)
	}
	g, err := allocation.From(&id, j.types())
	if err != nil {
		panic(err)
	}
	return g
}

// withGPUs are the types of resources of jobs that ask for GPUs.
var withGPUs = func() records.ResourceTypes {
	types, err := records.NewResourceTypes(records.ResourceType{Name: gpu.Type})
	if err != nil {
		panic(err)
	}
	return types
}()

func (j job) types() records.ResourceTypes {
	if j.gpus > 0 {
		return withGPUs
	}
	return records.ResourceTypes{}
}

// run starts a container; user and memory have defaults.
func (l *lab) run(j job) *Container {
	l.t.Helper()
	if j.user == "" {
		j.user = "ann"
	}
	if j.memory == 0 {
		j.memory = 256
	}
	if err := l.node.Start(j.grant(0), j.context(), j.token(0)); err != nil {
		l.t.Fatal(err)
	}
	return l.container(j.id)
}

func (l *lab) container(id records.ContainerID) *Container {
	l.t.Helper()
	c, err := l.node.Container(id)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func waitDone(t testing.TB, c *Container) Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.WaitDone(ctx); err != nil {
		t.Fatalf("%s: %v; %s", c, err, c.Status().Diagnostics)
	}
	return c.Status()
}

func waitFile(t testing.TB, path string) string {
	t.Helper()
	await.Until(t, path, func() bool { _, err := os.Stat(path); return err == nil })
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// file makes a source file and the resource that names it.
func (l *lab) file(name, content string) *pb.LocalResource {
	l.t.Helper()
	path := filepath.Join(l.dir, "source", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		l.t.Fatal(err)
	}
	modified := time.UnixMilli(stamp)
	if err := os.Chtimes(path, modified, modified); err != nil {
		l.t.Fatal(err)
	}
	u := &pb.URL{}
	u.SetScheme("file")
	u.SetPort(-1)
	u.SetFile(path)
	r := &pb.LocalResource{}
	r.SetResource(u)
	r.SetSize(int64(len(content)))
	r.SetTimestamp(stamp)
	r.SetType(pb.LocalResourceType_FILE)
	r.SetVisibility(pb.LocalResourceVisibility_APPLICATION)
	return r
}
