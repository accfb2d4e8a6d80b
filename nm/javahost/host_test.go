package javahost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/nm/allocation"
	"heddle/nm/nmtest"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// recorder are the classes of testdata.
var recorder jvmtest.Once

func TestMain(m *testing.M) { recorder.Main(m) }

// lab is a host of a recording service.
type lab struct {
	t      *testing.T
	dir    string
	bucket *bucket
	cfg    Config
	log    *output.Buffer
	host   *Host
}

// bucket is nmtest.Store, whose writes end at once.
type bucket struct{ nmtest.Store }

func done(err error) <-chan error {
	c := make(chan error, 1)
	c <- err
	return c
}

func (b *bucket) Begin(key string, value []byte) <-chan error { return done(b.Put(key, value)) }
func (b *bucket) BeginDelete(key string) <-chan error         { return done(b.Delete(key)) }

func newLab(t *testing.T, set ...string) *lab {
	t.Helper()
	classes := recorder.Compile(t, "testdata/Recorder.java")
	l := &lab{t: t, dir: t.TempDir(), bucket: &bucket{}, log: &output.Buffer{}}
	local := filepath.Join(l.dir, "local")
	if err := os.Mkdir(local, 0o755); err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.Out = l.log
	l.cfg = Config{
		Config: jvm.Config{
			Java: jvmtest.Java(t), JavaVersion: 17, HeapMB: 64, ClassPath: filepath.Join(jvmtest.Hadoop(t), "*"), Dir: l.dir, JavaOptions: jvmtest.Options,
			Env: os.Environ(), Confine: func(int) error { return nil }, Sweep: func() {}, Log: logrus.NewEntry(log),
		},
		Recovery:   filepath.Join(l.dir, "recovery"),
		Services:   []Service{{Name: "recorder", Class: "heddle.test.Recorder", ClassPath: classes}},
		Properties: append([]string{"recorder.file", filepath.Join(l.dir, "calls")}, set...),
		Dirs:       nmtest.Dirs{local}, Patience: 30 * time.Second, Bucket: l.bucket,
	}
	t.Cleanup(func() {
		if l.host != nil {
			l.host.Close()
		}
		if t.Failed() {
			t.Logf("%s", l.log)
		}
	})
	return l
}

func (l *lab) start() error {
	l.t.Helper()
	var err error
	if l.host, err = New(l.cfg); err != nil {
		l.t.Fatal(err)
	}
	return l.host.Start()
}

func (l *lab) up() *lab {
	l.t.Helper()
	if err := l.start(); err != nil {
		l.t.Fatal(err)
	}
	return l
}

// calls are those that the service has recorded.
func (l *lab) calls() []string {
	b, err := os.ReadFile(filepath.Join(l.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// expect waits until the last calls are those.
func (l *lab) expect(what string, want ...string) {
	l.t.Helper()
	await.Until(l.t, what, func() bool {
		got := l.calls()
		return len(got) >= len(want) && slices.Equal(got[len(got)-len(want):], want)
	})
}

var app = records.ApplicationID{ClusterTimestamp: 1700000000000, ID: 7}

func grant(id records.ApplicationID, n int64) allocation.Grant {
	return allocation.Grant{
		ID:   records.ContainerID{Attempt: records.AttemptID{App: id, Attempt: 1}, ID: n},
		User: "ann", Resource: records.NewResource(512, 2), Type: pb.ContainerType_TASK,
	}
}

func (l *lab) give(id records.ApplicationID, data string) error {
	ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
	defer cancel()
	return l.host.StartApplication(ctx, "recorder", id, "ann", []byte(data))
}

func TestAServicesWholeLife(t *testing.T) {
	l := newLab(t).up()
	if got := l.host.Metadata(); string(got["recorder"]) != "recorded" {
		t.Errorf("metadata %q", got)
	}
	l.host.StartContainer(grant(app, 1))
	for _, data := range []string{"secret", "path"} {
		if err := l.give(app, data); err != nil {
			t.Fatal(err)
		}
	}
	var refused *jvm.Refused
	if err := l.give(app, "throw"); !errors.As(err, &refused) || !strings.Contains(err.Error(), "the application is told to fail") {
		t.Errorf("%v", err)
	}
	l.host.StopContainer(grant(app, 1))
	l.host.StopApplication(app)
	l.host.Close()
	want := []string{
		"init recovery=recorder handler=true loader=true", "start", "getMetaData",
		"initializeContainer ann 0007/1 <memory:512, vCores:2> TASK", "initializeApplication ann 0007 secret",
		"initializeApplication ann 0007 path", "path a", "initializeApplication ann 0007 throw",
		"stopContainer ann 0007/1 <memory:512, vCores:2> TASK", "stopApplication 0007", "stop",
	}
	if got := l.calls(); !slices.Equal(got, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(l.log.String(), "the recorder has started") {
		t.Error("what it printed isn't in the log")
	}
	if err := l.bucket.ForEach("", func(key string, _ []byte) error { return errors.New(key) }); err != nil {
		t.Errorf("%v is left in the state", err)
	}
}

// The JVM is killed: another one is told what lives, in order, and of the ends that nobody has heard of. A call that comes in between waits for it.
func TestAKilledJVMIsStartedAgain(t *testing.T) {
	l := newLab(t).up()
	other := records.ApplicationID{ClusterTimestamp: app.ClusterTimestamp, ID: 8}
	over := records.ApplicationID{ClusterTimestamp: app.ClusterTimestamp, ID: 9}
	for i, id := range []records.ApplicationID{app, other, over} {
		l.host.StartContainer(grant(id, 1))
		if err := l.give(id, fmt.Sprint("data", i)); err != nil {
			t.Fatal(err)
		}
	}
	l.host.StopContainer(grant(other, 1)) // it lives on without containers
	first := l.host.Status().PID
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the end noticed", func() bool { return !l.host.Status().Up })
	l.host.StopContainer(grant(over, 1))
	l.host.StopApplication(over)
	late := records.ApplicationID{ClusterTimestamp: app.ClusterTimestamp, ID: 10}
	l.host.StartContainer(grant(late, 1))
	if err := l.give(late, "late"); err != nil {
		t.Fatal(err)
	}
	l.expect("what lives", "init recovery=recorder handler=true loader=true", "start", "getMetaData",
		"initializeContainer ann 0007/1 <memory:512, vCores:2> TASK", "initializeApplication ann 0007 data0",
		"initializeContainer ann 0010/1 <memory:512, vCores:2> TASK", "initializeApplication ann 0010 late",
		"initializeApplication ann 0008 data1", "stopApplication 0009")
	if s := l.host.Status(); !s.Up || s.PID == first || s.Restarts != 1 || !strings.Contains(s.Trouble, "killed") {
		t.Errorf("%+v", s)
	}
}

// The node is started again: services hear of applications that live on without containers, and of those that have ended meanwhile.
func TestApplicationsOfTheLastLife(t *testing.T) {
	l := newLab(t).up()
	over := records.ApplicationID{ClusterTimestamp: app.ClusterTimestamp, ID: 9}
	for _, id := range []records.ApplicationID{app, over} {
		l.host.StartContainer(grant(id, 1))
		if err := l.give(id, "secret"); err != nil {
			t.Fatal(err)
		}
	}
	l.host.Close()
	l.up()
	l.host.Recovered(func(id records.ApplicationID) bool { return id == app })
	l.expect("both", "start", "getMetaData", "initializeApplication ann 0007 secret", "stopApplication 0009")
}

// A service's classes come from any file system, if they are the account's and no other may change them. A copy that was fetched is used again.
func TestClassesFromAFileSystem(t *testing.T) {
	l := newLab(t)
	classes := l.cfg.Services[0].ClassPath
	jar := filepath.Join(t.TempDir(), "service.jar")
	if said, err := exec.Command("jar", "cf", jar, "-C", classes, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	l.cfg.Services[0].ClassPath, l.cfg.Services[0].Files = "", []File{{Source: "file://" + jar}}
	l.up()
	l.expect("the service runs", "init recovery=recorder handler=true loader=true", "start", "getMetaData")
	local := l.cfg.Dirs.Writable()[0]
	fetched := func() (all []string) {
		all, err := filepath.Glob(filepath.Join(local, "nmAuxService", "heddle.test.Recorder_*", "service.jar"))
		if err != nil || len(all) != 1 {
			t.Fatalf("fetched are %v, %v", all, err)
		}
		return all
	}
	first := fetched()[0]
	was, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	l.host.Close()
	l.up()
	if now, err := os.Stat(fetched()[0]); err != nil || !os.SameFile(was, now) {
		t.Errorf("it was fetched again: %v", err)
	}
	l.host.Close()
	if err := os.Chmod(jar, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := l.start(); err == nil || !strings.Contains(err.Error(), "should not be writable by group or others") {
		t.Errorf("a jar that all may change: %v", err)
	}
}

func TestServicesThatRefuseToStart(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"it throws":         {func(c *Config) { c.Properties = append(c.Properties, "recorder.init", "throw") }, "the recorder is told to fail"},
		"it ends its JVM":   {func(c *Config) { c.Properties = append(c.Properties, "recorder.init", "exit") }, "exit status 3"},
		"no class":          {func(c *Config) { c.Services[0].Class = "heddle.test.Nosuch" }, "heddle.nodemanager.java.class-path, or take recorder out of"},
		"no service":        {func(c *Config) { c.Services[0].Class = "org.apache.hadoop.fs.Path" }, "ClassCastException"},
		"an unknown option": {func(c *Config) { c.JavaOptions = append(c.JavaOptions, "-XX:Nosuch") }, "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			test.change(&l.cfg)
			if err := l.start(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}

// A service that hangs keeps neither its node nor other applications for longer than its patience: at the start the node goes on without it.
func TestServicesThatHang(t *testing.T) {
	t.Run("in init", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, "recorder.init", "hang")
		l.cfg.Patience = 5 * time.Second
		if err := l.start(); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the reason", func() bool { // of one of the first starts, which get more and more time
			s := l.host.Status()
			return !s.Up && strings.Contains(s.Trouble, "patience-ms") && strings.Contains(s.Trouble, "recorder")
		})
		if got := l.host.Metadata(); len(got) > 0 {
			t.Errorf("metadata %q", got)
		}
		await.Until(t, "what its threads do", func() bool { return strings.Contains(l.log.String(), "heddle.test.Recorder.forever") })
	})
	t.Run("in a call", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.cfg.Patience = 10 * time.Second
		l.up()
		await.Until(t, "services", func() bool { return l.host.Status().Up })
		if err := l.give(app, "hang"); !errors.Is(err, errDied) {
			t.Errorf("%v", err)
		}
		l.host.StopApplication(app) // else it hangs again
		l.expect("another JVM", "getMetaData", "stopApplication 0007")
	})
}

// A service that ends its JVM, fills its memory or leaves processes behind.
func TestServicesThatDoWorse(t *testing.T) {
	for _, data := range []string{"exit", "leak"} {
		t.Run(data, func(t *testing.T) {
			t.Parallel()
			l := newLab(t).up()
			if err := l.give(app, data); !errors.Is(err, errDied) {
				t.Errorf("%v", err)
			}
			l.host.StopApplication(app)
			l.expect("another JVM", "getMetaData", "stopApplication 0007")
		})
	}
	t.Run("fork", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		swept := make(chan struct{})
		l.cfg.Sweep = sync.OnceFunc(func() { close(swept) })
		l.up()
		if err := l.give(app, "fork"); err != nil {
			t.Fatal(err)
		}
		var pid int
		await.Until(t, "its child", func() bool {
			b, err := os.ReadFile(filepath.Join(l.dir, "calls.child"))
			n, _ := fmt.Sscan(string(b), &pid)
			return err == nil && n == 1
		})
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		l.host.Close() // although the child has left the JVM's session and holds the log open
		select {
		case <-swept:
		default:
			t.Error("nobody was asked to end it")
		}
	})
}
