package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestAggregation(t *testing.T) {
	l := newLab(t)
	l.begin(Wishes{})
	l.log(1, c1(2), "stdout", "two out")
	l.log(0, c1(2), "stderr", "two err")
	l.log(0, c1(1), "syslog", "master")
	l.log(0, c1(1), "sub/deeper", "ignored")
	l.ContainerFinished(Ended{ID: c1(1), Master: true})
	l.ContainerFinished(Ended{ID: c1(2), ExitCode: 1})
	l.log(0, c1(3), "stdout", "never reported")
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	equal(t, "remote files", l.files(), []string{"host.example.com_8041"})
	equal(t, "logs", l.remoteLogs("host.example.com_8041"),
		[]string{"1/syslog=master", "2/stderr=two err", "2/stdout=two out", "3/stdout=never reported"})
	for name, want := range map[string]fs.FileMode{
		"/logs": fs.ModeSticky | 0o777, "/logs/alice": 0o770, "/logs/alice/bucket-logs-tfile": 0o770,
		"/logs/alice/bucket-logs-tfile/0012": 0o770, app1Dir: 0o770, app1Dir + "/host.example.com_8041": 0o640,
	} {
		fi, err := os.Stat(filepath.Join(l.remote.root, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode() & (fs.ModePerm | fs.ModeSticky); got != want {
			t.Errorf("%s: mode %v, want %v", name, got, want)
		}
	}
	if u := l.remote.users[app1Dir+"/host.example.com_8041.tmp"]; u != "alice" {
		t.Errorf("created by %q", u)
	}
	rs := l.TakeReports()
	if len(rs) != 2 || rs[0].Status != pb.LogAggregationStatus_LOG_RUNNING || rs[1].Status != pb.LogAggregationStatus_LOG_SUCCEEDED ||
		!strings.HasPrefix(rs[0].Diagnostics, "Log uploaded successfully for Application: application_1700000000000_10012 in NodeManager: host.example.com_8041 at ") ||
		!strings.HasSuffix(rs[0].Diagnostics, "\n") || rs[1].Diagnostics != "" {
		t.Errorf("reports %+v", rs)
	}
	if m := rs[1].PB(); m.GetApplicationId().GetId() != 10012 || !m.HasDiagnostics() {
		t.Errorf("on the wire: %v", m)
	}
	l.PutBack(rs[1:])
	equal(t, "reports put back", l.statuses(), []string{"SUCCEEDED"})
	if s := l.Statuses(); len(s) != 1 || s[0].Status != pb.LogAggregationStatus_LOG_SUCCEEDED {
		t.Errorf("statuses %+v", s)
	}
	for _, d := range l.dirs {
		if entries, _ := os.ReadDir(d); len(entries) != 0 {
			t.Errorf("%s still holds %v", d, entries)
		}
	}
	if l.store.Len() != 0 {
		t.Errorf("the store still holds %v", l.store.All())
	}
	// And it can be read again.
	archive := Archive{FS: l.remote.As("bob"), Place: l.cfg.Place, Older: true}
	files, err := archive.Files(t.Context(), app1, "alice")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	var text bytes.Buffer
	err = archive.Each(t.Context(), files[0], func(log AggregatedLog, content io.Reader) error {
		if log.Name != "stdout" {
			return nil
		}
		return log.WriteText(&text, content, -3)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Container: container_1700000000000_10012_01_000002 on host.example.com_8041\nLogAggregationType: AGGREGATED\n%s\n"+
		"LogType:stdout\nLogLastModifiedTime:%s\nLogLength:7\nLogContents:\nout\nEnd of LogType:stdout\n%s\n\n",
		strings.Repeat("=", 75), FormatTime(files[0].ModTime), strings.Repeat("*", 71))
	if got, _, _ := strings.Cut(text.String(), "Container: container_1700000000000_10012_01_000003"); got != want {
		t.Errorf("text:\n%s, want\n%s", got, want)
	}
	if _, err := archive.Files(t.Context(), app1, "bob"); !errors.Is(err, ErrNoLogs) {
		t.Errorf("of another owner: %v", err)
	}
}

func TestNothingToAggregate(t *testing.T) {
	l := newLab(t)
	l.begin(Wishes{Policy: "NoneContainerLogAggregationPolicy"})
	l.log(0, c1(1), "stdout", "unwanted")
	l.ContainerFinished(Ended{ID: c1(1), Master: true})
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	if len(l.files()) != 0 || l.remote.count("create") != 0 {
		t.Errorf("remote files: %v", l.files())
	}
	equal(t, "reports", l.statuses(), []string{"RUNNING", "SUCCEEDED"})
	if entries, _ := os.ReadDir(l.dirs[0]); len(entries) != 0 {
		t.Errorf("local logs are left: %v", entries)
	}
	l.FinishApplication(app1)
	if err := l.wait(); err != nil {
		t.Errorf("an application unknown: %v", err)
	}
}

func TestWishes(t *testing.T) {
	for name, c := range map[string]struct {
		wishes Wishes
		want   []string
	}{
		"include":         {Wishes{Include: "std"}, []string{"1/stderr=e", "1/stdout=o", "2/stderr=e", "2/stdout=o"}},
		"exclude":         {Wishes{Exclude: "err$"}, []string{"1/stdout=o", "1/sys.log=s", "2/stdout=o", "2/sys.log=s"}},
		"both":            {Wishes{Include: "std", Exclude: "out"}, []string{"1/stderr=e", "2/stderr=e"}},
		"bad pattern":     {Wishes{Include: "(?=x)", Exclude: "out|err"}, []string{"1/sys.log=s", "2/sys.log=s"}},
		"policy":          {Wishes{Policy: "AMOnlyLogAggregationPolicy", Include: "out"}, []string{"1/stdout=o"}},
		"unknown policy":  {Wishes{Policy: "Mine", Include: "out"}, []string{"1/stdout=o", "2/stdout=o"}},
		"only parameters": {Wishes{Parameters: "SR:0", Include: "out"}, []string{"1/stdout=o", "2/stdout=o"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.begin(c.wishes)
			for n := range int64(2) {
				l.log(0, c1(n+1), "stdout", "o")
				l.log(0, c1(n+1), "stderr", "e")
				l.log(0, c1(n+1), "sys.log", "s")
				l.ContainerFinished(Ended{ID: c1(n + 1), Master: n == 0})
			}
			if err := l.finish(); err != nil {
				t.Fatal(err)
			}
			equal(t, "logs", l.remoteLogs("host.example.com_8041"), c.want)
		})
	}
	m := &pb.LogAggregationContext{}
	m.SetRolledLogsIncludePattern("x")
	if got, want := WishesFrom(m), (Wishes{RolledInclude: "x"}); got != want {
		t.Errorf("unset fields read as %+v", got)
	}
	if got := WishesFrom(nil); got != (Wishes{}) {
		t.Errorf("no context reads as %+v", got)
	}
}

// The remote file system is away for a while.
func TestRetry(t *testing.T) {
	for _, op := range []string{"stat", "mkdir", "chmod", "create", "write", "rename"} {
		t.Run(op, func(t *testing.T) {
			l := newLab(t)
			left := 3
			l.remote.failWith(func(o, _ string) error {
				if o == op && left > 0 {
					left--
					return syscall.ECONNREFUSED
				}
				return nil
			})
			l.begin(Wishes{})
			l.log(0, c1(1), "stdout", strings.Repeat("x", 3<<20))
			l.ContainerFinished(Ended{ID: c1(1)})
			if err := l.finish(); err != nil {
				t.Fatal(err)
			}
			equal(t, "remote files", l.files(), []string{"host.example.com_8041"})
			got := l.statuses()
			if len(got) != 5 || got[0] != "RUNNING_WITH_FAILURE" || got[4] != "SUCCEEDED" {
				t.Errorf("reports %v", got)
			}
		})
	}
}

// What can't be uploaded stays, and the ResourceManager learns why.
func TestFailure(t *testing.T) {
	for name, err := range map[string]error{"for too long": syscall.EHOSTUNREACH, "for good": fs.ErrPermission} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, func(c *Config) { c.RetryFor = 20 * time.Millisecond })
			l.remote.failWith(func(op, _ string) error {
				if op == "write" {
					return err
				}
				return nil
			})
			l.begin(Wishes{})
			kept := l.log(0, c1(1), "stdout", "kept")
			l.ContainerFinished(Ended{ID: c1(1)})
			if got := l.finish(); !errors.Is(got, err) {
				t.Errorf("finished with %v", got)
			}
			rs := l.TakeReports()
			last := rs[len(rs)-1]
			if last.Status != pb.LogAggregationStatus_LOG_FAILED || !strings.Contains(last.Diagnostics, err.Error()) ||
				!strings.HasPrefix(last.Diagnostics, "Log uploaded failed for Application: application_1700000000000_10012") {
				t.Errorf("last report %+v", last)
			}
			if err == fs.ErrPermission && len(rs) != 2 {
				t.Errorf("%d reports: it was tried again", len(rs))
			}
			if b, err := os.ReadFile(kept); string(b) != "kept" || err != nil {
				t.Errorf("the local log: %q, %v", b, err)
			}
			if len(l.files()) != 0 {
				t.Errorf("remote files %v", l.files())
			}
		})
	}
}

func TestRolling(t *testing.T) {
	l := newLab(t, func(c *Config) {
		c.Roll = time.Hour // rolls by hand here
		c.MaxRolled = 2
	})
	clock := time.UnixMilli(1_800_000_000_000)
	l.Aggregator.cfg.Now = func() time.Time { return clock }
	l.begin(Wishes{RolledInclude: `\.log\.\d+$`, Exclude: "secret"})
	app := l.apps[app1]
	roll := func() {
		t.Helper()
		clock = clock.Add(time.Hour)
		if _, err := l.upload(app, false); err != nil {
			t.Fatal(err)
		}
	}
	l.ContainerStarted(c1(1), true)
	l.log(0, c1(1), "app.log", "now")
	rolled := l.log(0, c1(1), "app.log.1", "first")
	roll()
	equal(t, "files", l.files(), []string{"host.example.com_8041_1800003600000"})
	equal(t, "first", l.remoteLogs("host.example.com_8041_1800003600000"), []string{"1/app.log.1=first"})
	if _, err := os.Stat(rolled); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the rolled log is still here: %v", err)
	}
	roll()
	if len(l.files()) != 1 {
		t.Errorf("nothing new gave %v", l.files())
	}
	// A container that ends in between has all its logs uploaded.
	l.log(0, c1(2), "stdout", "two")
	l.log(0, c1(2), "secret", "hidden")
	l.log(0, c1(1), "app.log.1", "second")
	l.ContainerFinished(Ended{ID: c1(2)})
	roll()
	equal(t, "second", l.remoteLogs("host.example.com_8041_1800010800000"), []string{"1/app.log.1=second", "2/stdout=two"})
	l.log(0, c1(1), "app.log.1", "third")
	roll()
	equal(t, "the oldest is gone", l.files(), []string{"host.example.com_8041_1800010800000", "host.example.com_8041_1800014400000"})
	clock = clock.Add(time.Hour)
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	equal(t, "at the end", l.remoteLogs("host.example.com_8041_1800018000000"), []string{"1/app.log=now"})
}

func TestRollingByItself(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Roll = 2 * time.Millisecond })
	l.begin(Wishes{RolledInclude: "rolled"})
	l.ContainerStarted(c1(1), true)
	l.log(0, c1(1), "rolled.1", "x")
	await.Until(t, "the rolled log is remote", func() bool {
		return slices.ContainsFunc(l.files(), func(f string) bool { return !strings.HasSuffix(f, ".tmp") })
	})
	fail := true
	l.remote.failWith(func(op, _ string) error {
		if fail && op == "create" {
			return syscall.ECONNREFUSED
		}
		return nil
	})
	l.log(0, c1(1), "rolled.2", "y")
	await.Until(t, "the failure is reported", func() bool { return slices.Contains(l.statuses(), "RUNNING_WITH_FAILURE") })
	l.remote.failWith(nil)
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range l.files() {
		all = append(all, l.remoteLogs(f)...)
	}
	slices.Sort(all)
	equal(t, "logs", all, []string{"1/rolled.1=x", "1/rolled.2=y"})
}

// The NodeManager dies and comes again.
func TestAggregationRecovery(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Roll = time.Hour })
	l.begin(Wishes{RolledInclude: "rolled", Policy: "FailedContainerLogAggregationPolicy"})
	l.log(0, c1(1), "stdout", "failed")
	l.log(0, c1(2), "stdout", "fine")
	l.log(0, c1(3), "rolled", "uploaded before")
	l.ContainerFinished(Ended{ID: c1(1), ExitCode: 3})
	l.ContainerFinished(Ended{ID: c1(2)})
	l.ContainerFinished(Ended{ID: c1(3), ExitCode: 3})
	if _, err := l.upload(l.apps[app1], false); err != nil {
		t.Fatal(err)
	}
	if len(l.files()) != 1 {
		t.Fatalf("remote files %v", l.files())
	}
	l.log(0, c1(4), "stdout", "later")
	l.Stop(t.Context(), false)

	l.start()
	apps, err := l.Recover()
	if err != nil || !slices.Equal(apps, []records.ApplicationID{app1}) {
		t.Fatalf("recovered %v, %v", apps, err)
	}
	l.begin(Wishes{}) // told again, it keeps what it knows
	l.ContainerFinished(Ended{ID: c1(4), ExitCode: 1})
	// It dies again, in the middle of the last upload.
	gate := make(chan struct{})
	l.remote.failWith(func(op, _ string) error {
		if op == "create" {
			<-gate
			return syscall.ECONNRESET
		}
		return nil
	})
	l.FinishApplication(app1)
	go func() {
		await.Until(t, "the upload begins", func() bool { return l.remote.count("create") >= 1 })
		close(gate)
	}()
	l.Stop(t.Context(), false)
	l.remote.failWith(nil)
	l.remote.borne = ""
	l.start()
	if _, err := l.Recover(); err != nil {
		t.Fatal(err)
	}
	if err := l.wait(); err != nil {
		t.Fatal(err)
	}
	files := l.files()
	if len(files) != 2 {
		t.Fatalf("remote files %v", files)
	}
	equal(t, "before", l.remoteLogs(files[0]), []string{"1/stdout=failed", "3/rolled=uploaded before"})
	equal(t, "after", l.remoteLogs(files[1]), []string{"4/stdout=later"})
	if l.remote.borne != "alice's tokens" {
		t.Errorf("the logs were written with the credentials %q", l.remote.borne)
	}
	if l.store.Len() != 0 {
		t.Errorf("the store still holds %v", l.store.All())
	}
}

// A file of that name exists already.
func TestNameTaken(t *testing.T) {
	l := newLab(t)
	for range 2 {
		l.begin(Wishes{})
		l.log(0, c1(1), "stdout", "x")
		l.ContainerFinished(Ended{ID: c1(1)})
		if err := l.finish(); err != nil {
			t.Fatal(err)
		}
	}
	files := l.files()
	if len(files) != 2 || files[0] != "host.example.com_8041" || !isNodeFile(files[1], files[0]) {
		t.Errorf("remote files %v", files)
	}
}

func TestStopWithUpload(t *testing.T) {
	l := newLab(t)
	l.begin(Wishes{})
	l.log(0, c1(1), "stdout", "x")
	l.Stop(t.Context(), true)
	if err := l.wait(); err != nil {
		t.Fatal(err)
	}
	equal(t, "remote files", l.files(), []string{"host.example.com_8041"})
	if err := l.StartApplication(Start{App: app1, User: "alice"}); err == nil {
		t.Error("an application started after Stop")
	}
}

func TestHostileLogs(t *testing.T) {
	l := newLab(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.begin(Wishes{})
	l.log(0, c1(1), "stdout", "fine")
	dir := filepath.Join(l.dirs[0], app1.String(), c1(1).String())
	for _, err := range []error{
		os.Symlink(secret, filepath.Join(dir, "link")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644),
		os.Symlink(filepath.Dir(secret), filepath.Join(l.dirs[0], app1.String(), c1(2).String())),
		os.WriteFile(filepath.Join(dir, strings.Repeat("n", 200)), []byte("long name"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l.ContainerFinished(Ended{ID: c1(1)})
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	equal(t, "logs", l.remoteLogs("host.example.com_8041"), []string{"1/" + strings.Repeat("n", 200) + "=long name", "1/stdout=fine"})
	if b, err := os.ReadFile(secret); string(b) != "secret" || err != nil {
		t.Errorf("the file outside: %q, %v", b, err)
	}
}

func TestManyApplications(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Uploads = 3 })
	const count = 40
	var wg sync.WaitGroup
	for i := range int32(count) {
		wg.Go(func() {
			app := records.ApplicationID{ClusterTimestamp: 1, ID: i}
			id := records.ContainerID{Attempt: records.AttemptID{App: app, Attempt: 1}, ID: 1}
			if err := l.StartApplication(Start{App: app, User: fmt.Sprint("user", i%3)}); err != nil {
				t.Error(err)
			}
			l.log(int(i%2), id, "stdout", app.String())
			l.ContainerFinished(Ended{ID: id})
			l.FinishApplication(app)
		})
	}
	wg.Wait()
	for range count {
		if o := <-l.ended; o.err != nil {
			t.Errorf("%s: %v", o.app, o.err)
		}
	}
	archive := Archive{FS: l.remote.As(""), Place: l.cfg.Place}
	for i := range int32(count) {
		files, err := archive.Files(t.Context(), records.ApplicationID{ClusterTimestamp: 1, ID: i}, fmt.Sprint("user", i%3))
		if err != nil || len(files) != 1 {
			t.Errorf("application %d: %v, %v", i, files, err)
		}
	}
}

func TestAggregatorConfig(t *testing.T) {
	good := Config{Dirs: nmtest.Dirs{}, Remote: &diskFS{}, Place: Place{Root: "/logs"}}
	for want, c := range map[string]func(*Config){
		"Remote":             func(c *Config) { c.Remote = nil },
		"remote-app-log-dir": func(c *Config) { c.Place.Root = "" },
		"compression-type":   func(c *Config) { c.Compression = "lzo" },
		"policy.class":       func(c *Config) { c.Policy = "com.example.Mine" },
	} {
		bad := good
		c(&bad)
		if _, err := NewAggregator(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestPlace(t *testing.T) {
	settings := map[string]string{"yarn.nodemanager.remote-app-log-dir": "hdfs://nn:8020/app-logs/", "yarn.nodemanager.remote-app-log-dir-suffix": "logs"}
	text := func(key string) string { return settings[key] }
	p := PlaceOf("TFile", text)
	for id, want := range map[int32]string{
		1: "hdfs://nn:8020/app-logs/alice/bucket-logs-tfile/0001/application_5_0001", 10012: "hdfs://nn:8020/app-logs/alice/bucket-logs-tfile/0012/application_5_10012",
		123456789: "hdfs://nn:8020/app-logs/alice/bucket-logs-tfile/6789/application_5_123456789",
	} {
		if got := p.AppDir(records.ApplicationID{ClusterTimestamp: 5, ID: id}, "alice"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := p.OlderAppDir(records.ApplicationID{ClusterTimestamp: 5, ID: 1}, "alice"); got != "hdfs://nn:8020/app-logs/alice/logs-tfile/application_5_0001" {
		t.Errorf("older: %s", got)
	}
	settings["yarn.log-aggregation.IFile.remote-app-log-dir"], settings["yarn.log-aggregation.IFile.remote-app-log-dir-suffix"] = "/app-logs-ifile", "ilogs"
	if got := PlaceOf("IFile", text); got != (Place{"/app-logs-ifile", "ilogs"}) {
		t.Errorf("a format with a folder of its own has its logs in %v", got)
	}
	if got := PlaceOf("TFile", text); got != p {
		t.Errorf("and the others in %v", got)
	}
	for file, want := range map[string]bool{"h_80": true, "h_80_123": true, "h_80.tmp": false, "h_8041": false, "h_80_": false, "h_80_1.tmp": false, "x": false} {
		if got := isNodeFile(file, "h_80"); got != want {
			t.Errorf("%s is a file of h_80: %v", file, got)
		}
	}
}

// An application of a hundred containers on the node, from the first to the last call.
func BenchmarkAggregation(b *testing.B) {
	l := newLab(b)
	line := strings.Repeat("2026-01-01 00:00:00,000 INFO [main] org.example.Main: a line of a log\n", 100)
	b.SetBytes(int64(100 * len(line)))
	for i := int32(1); b.Loop(); i++ {
		b.StopTimer()
		app := records.ApplicationID{ClusterTimestamp: 2, ID: i}
		attempt := records.AttemptID{App: app, Attempt: 1}
		for c := range int64(100) {
			l.log(int(c%2), records.ContainerID{Attempt: attempt, ID: c + 1}, "stdout", line)
		}
		b.StartTimer()
		if err := l.StartApplication(Start{App: app, User: "alice"}); err != nil {
			b.Fatal(err)
		}
		for c := range int64(100) {
			l.ContainerFinished(Ended{ID: records.ContainerID{Attempt: attempt, ID: c + 1}})
		}
		l.FinishApplication(app)
		if o := <-l.ended; o.err != nil {
			b.Fatal(o.err)
		}
	}
}

// An application that outlives its token has its logs written with the one that the ResourceManager has got meanwhile.
func TestLogsAreWrittenWithTheNewestCredentials(t *testing.T) {
	newest := func(app records.ApplicationID, brought []byte) []byte {
		return []byte(app.String() + ", not " + string(brought))
	}
	l := newLab(t, func(c *Config) { c.Credentials = newest })
	l.begin(Wishes{})
	l.log(0, c1(1), "stdout", "text")
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	if l.remote.borne != app1.String()+", not alice's tokens" {
		t.Errorf("the logs were written with the credentials %q", l.remote.borne)
	}
}
