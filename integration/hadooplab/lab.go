package hadooplab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// startLimit bounds how long a lab may take to start. A slow machine under load needs a minute.
const startLimit = 4 * time.Minute

// Options describe a lab.
type Options struct {
	// DataNodes is their number. Block locations call the first one localhost, the others 127.0.0.2, 127.0.0.3, …
	DataNodes int
	// NameNodes is 2 for a highly available pair: nameservice "lab" with nn1 and nn2, of which nn1 becomes active.
	// Otherwise there is one if there are DataNodes.
	NameNodes int
	// YARN starts a ResourceManager and NodeManagers, HistoryServer a JobHistoryServer.
	ResourceManager bool
	NodeManagers    int
	HistoryServer   bool
	// TimelineServer starts a stock timeline server of version 1.5, to which the daemons and clients of the lab are told to publish.
	TimelineServer bool
	// TimelineReader turns timeline version 2 on, with storage in files, and starts a stock reader of it.
	TimelineReader bool
	// NodeHost is the address by which NodeManagers name themselves; localhost by default. They call from 127.0.0.1 whatever it is.
	NodeHost string
	// ResourceManagers is 3 or more, or 2 with a witness, for a highly available group rm1, rm2, …, which only Heddle has. The names of their
	// daemons are resourcemanager1, …
	ResourceManagers int
	// Witness adds a witness, a daemon of that name, to two ResourceManagers.
	Witness bool
	// Heddle is the path of a heddle binary that runs ResourceManager and NodeManagers, with the configuration that
	// Hadoop's would have. "" stands for Hadoop's daemons.
	Heddle string
	// Stock is the role, rm or nm, that Hadoop runs although Heddle is set.
	Stock string
	// OwnJVM keeps Java's default settings, for measurements. Otherwise daemons and commands start quickly.
	OwnJVM bool
	// Heap is the memory that each of Hadoop's daemons may use, in the form of java's -Xmx; 512m by default.
	Heap string
	// LogLevel is the lowest level that Hadoop's daemons log; INFO by default.
	LogLevel string
	// Cache is how many bytes each DataNode can keep in memory for the NameNode.
	Cache int64
	// Krb5 is the krb5.conf of Hadoop's daemons and commands; "" stands for the machine's.
	Krb5 string
	// Site has further settings. Their names determine their files.
	Site map[string]string
	// Files are further files of the configuration folder, by their names.
	Files map[string]string
	// Dir is the lab's folder. "" stands for a temporary one, which is removed at the end.
	Dir string
}

// Lab is a running Hadoop.
//
// It has many methods because each daemon and client of Hadoop's that tests start is one.
type Lab struct {
	options Options
	dir     string
	lib     string
	ports   map[string]int
	release func() // releases the ports
	site    map[string]string
	daemons []*Daemon
	starter *starter
	guard   *watchdog
}

// Start starts a lab and waits until it is ready. It ends with the test. If the test fails, the ends of the logs are
// printed. Without Java the test fails.
func Start(t testing.TB, o Options) *Lab {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	lab, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lab.logIfFailed(t, nil)
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	return lab
}

// New starts a lab outside of a test, and waits until it is ready. The caller must close it.
func New(ctx context.Context, o Options) (*Lab, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return nil, errNoJava
	}
	if o.DataNodes > 0 && o.NameNodes == 0 {
		o.NameNodes = 1
	}
	lib, err := Jars(ctx) // the first time this depends on the network
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// Another process may take a free port before the daemon opens it.
	for attempt := 1; ; attempt++ {
		lab, err := start(ctx, lib, o)
		if err == nil || attempt == 3 || !errors.Is(err, errPortTaken) {
			return lab, err
		}
	}
}

func start(ctx context.Context, lib string, o Options) (_ *Lab, err error) {
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hadooplab-"); err != nil {
			return nil, err
		}
	} else if dir, err = os.MkdirTemp(dir, "lab-"); err != nil {
		return nil, err
	}
	// Containers of other users must be able to reach their folders.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	l := &Lab{options: o, dir: dir, lib: lib}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.guard, err = startWatchdog(dir); err != nil {
		return nil, err
	}
	l.starter = newStarter()
	if l.ports, l.release, err = freePorts(portNames(o)); err != nil {
		return nil, err
	}
	l.site = l.settings()
	if err := l.writeConf(); err != nil {
		return nil, err
	}
	if err := l.startHDFS(ctx); err != nil {
		return nil, err
	}
	if err := l.startYARN(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Lab) startHDFS(ctx context.Context) error {
	if l.options.NameNodes == 0 {
		return nil
	}
	if _, err := l.java(ctx, nil, "org.apache.hadoop.hdfs.server.namenode.NameNode", l.nameNodeArgs(1, "-format", "-nonInteractive", "-force")...); err != nil {
		return fmt.Errorf("formatting the NameNode: %w", err)
	}
	for i := 2; i <= l.options.NameNodes; i++ {
		if err := os.CopyFS(l.nameDir(i), os.DirFS(l.nameDir(1))); err != nil {
			return fmt.Errorf("copying the NameNode's image: %w", err)
		}
	}
	for i := 1; i <= l.options.NameNodes; i++ {
		if err := l.launch(daemonName("namenode", i, l.options.NameNodes), "org.apache.hadoop.hdfs.server.namenode.NameNode", l.nameNodeArgs(i)...); err != nil {
			return err
		}
	}
	class, err := dataNodeClass(l.options, l.dir)
	if err != nil {
		return err
	}
	for i := 1; i <= l.options.DataNodes; i++ {
		if err := l.launch(fmt.Sprintf("datanode%d", i), class, l.dataNodeArgs(i)...); err != nil {
			return err
		}
	}
	if l.options.NameNodes > 1 {
		if err := l.waitAnswer(ctx, "namenode1"); err != nil {
			return err
		}
		if _, err := l.Run(ctx, "hdfs", "haadmin", "-transitionToActive", "nn1"); err != nil {
			return err
		}
	}
	return l.WaitHDFS(ctx, l.options.DataNodes)
}

func (l *Lab) startYARN(ctx context.Context) error {
	if l.options.TimelineServer {
		if err := l.launch("timelineserver", "org.apache.hadoop.yarn.server.applicationhistoryservice.ApplicationHistoryServer"); err != nil {
			return err
		}
		if err := waitTimeline(ctx, l); err != nil {
			return err
		}
	}
	if err := startReader(ctx, l); err != nil {
		return err
	}
	for i := 1; i <= l.options.ResourceManagers; i++ {
		if err := l.launchHeddle(fmt.Sprintf("resourcemanager%d", i), "rm", "--id", fmt.Sprintf("rm%d", i)); err != nil {
			return err
		}
	}
	if l.options.Witness {
		if err := l.launchHeddle("witness", "witness"); err != nil {
			return err
		}
	}
	if l.options.ResourceManager && l.options.ResourceManagers == 0 {
		if err := l.launchYARN("resourcemanager", "rm", "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"); err != nil {
			return err
		}
	}
	for i := 1; i <= l.options.NodeManagers; i++ {
		if err := l.launchYARN(fmt.Sprintf("nodemanager%d", i), "nm", "org.apache.hadoop.yarn.server.nodemanager.NodeManager", l.nodeManagerArgs(i)...); err != nil {
			return err
		}
	}
	if l.options.HistoryServer {
		if err := l.launch("historyserver", "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"); err != nil {
			return err
		}
		if err := l.waitHistory(ctx); err != nil {
			return err
		}
	}
	if l.options.ResourceManager {
		return l.WaitYARN(ctx, l.options.NodeManagers)
	}
	return nil
}

// launchYARN starts one of YARN's daemons, Hadoop's or Heddle's.
func (l *Lab) launchYARN(name, role, class string, args ...string) error {
	if l.options.Heddle == "" || l.options.Stock == role {
		return l.launch(name, class, args...)
	}
	return l.launchHeddle(name, append([]string{role}, args...)...)
}

func daemonName(kind string, i, n int) string {
	if n == 1 {
		return kind
	}
	return fmt.Sprintf("%s%d", kind, i)
}

// Conf returns a configuration folder for clients of the lab and for daemons of any make.
func (l *Lab) Conf() string { return filepath.Join(l.dir, "conf") }

// Dir returns the lab's folder, with conf, log and the daemons' data.
func (l *Lab) Dir() string { return l.dir }

// URI returns fs.defaultFS.
func (l *Lab) URI() string { return l.site["fs.defaultFS"] }

// Port returns the port of a service: namenode, namenode-http (with two NameNodes namenode1, …), rm, rm-scheduler,
// rm-tracker, rm-admin, rm-http, history, history-http, timeline, timeline-http. It panics for services that the lab doesn't have.
func (l *Lab) Port(service string) int {
	p, ok := l.ports[service]
	if !ok {
		panic("hadooplab: the lab has no " + service)
	}
	return p
}

// Daemon returns a daemon: namenode (or namenode1, namenode2), datanode1, …, resourcemanager, nodemanager1, …,
// historyserver, timelineserver. It panics if the lab has none with that name.
func (l *Lab) Daemon(name string) *Daemon {
	for _, d := range l.daemons {
		if d.name == name {
			return d
		}
	}
	panic("hadooplab: the lab has no " + name)
}

// Close ends all processes of the lab and removes its folder.
func (l *Lab) Close() error {
	for _, d := range slices.Backward(l.daemons) {
		if d.heddle {
			d.Stop() // the watchdog cleans up after Hadoop's daemons
		}
		d.Kill()
	}
	if l.starter != nil {
		l.starter.close()
	}
	if l.release != nil {
		l.release()
	}
	var err error
	if l.guard != nil {
		err = l.guard.finish()
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// A failed test shows the last lines of each log, and not more, so that limited output still has what failed. It shows
// more lines of a daemon that doesn't start, because the reason precedes a stack.
const (
	logLines   = 15
	startLines = 60 // lines of a daemon that doesn't start
	lineBytes  = 300
)

// logIfFailed prints the ends of the logs since the start of the test, and finally which test failed.
func (l *Lab) logIfFailed(t testing.TB, from map[string]int64) {
	if !t.Failed() {
		return
	}
	for _, d := range l.daemons {
		if text := tail(d.log, from[d.name], logLines); text != "" {
			t.Logf("end of the log of %s:\n%s", d.name, text)
		}
	}
	t.Logf("%s failed; the reason is above the ends of the logs", t.Name())
}

// tail returns the last lines of a file after from, without those of the audit log.
func tail(path string, from int64, most int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(data[min(int(from), len(data)):])) {
		if line = strings.TrimRight(line, "\n"); line != "" && !audit(line) {
			lines = append(lines, line)
		}
	}
	lines = lines[max(0, len(lines)-most):]
	for i, line := range lines {
		if len(line) > lineBytes {
			lines[i] = strings.ToValidUTF8(line[:lineBytes], "") + " …"
		}
	}
	return strings.Join(lines, "\n")
}

// audit reports whether a line belongs to a daemon's audit log. There are many such lines, and they report successes.
func audit(line string) bool {
	return strings.Contains(line, "FSNamesystem.audit") || strings.Contains(line, "RMAuditLogger") || strings.Contains(line, "NMAuditLogger") ||
		strings.Contains(line, "OPERATION=") && strings.Contains(line, "RESULT=SUCCESS")
}
