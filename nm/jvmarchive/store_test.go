package jvmarchive

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/internal/userfiles"
	"heddle/nm/launch"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

const source = `
package org.example;
public class Main {
	interface Greeting { String to(String who); }
	public static void main(String[] args) throws Exception {
		Greeting g = who -> "hello, " + who;
		System.out.println(g.to(args[0]));
		try (var in = Main.class.getResourceAsStream("/greeting.txt")) { System.out.print(new String(in.readAllBytes())); }
	}
}
`

// bench is a store and a Java program for it.
type bench struct {
	t     *testing.T
	dir   string
	store *Store
	n     int
	owner *userfiles.User // whom programs run as; nil: this process's user
}

func newBench(t *testing.T, tweak func(*Config)) *bench {
	t.Helper()
	javac := needs.Program(t, "javac")
	b := &bench{t: t, dir: t.TempDir()}
	write(t, b.dir+"/src/Main.java", source)
	if out, err := exec.Command(javac, "-d", b.dir+"/classes", b.dir+"/src/Main.java").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries := map[string]string{"greeting.txt": "from the jar\n"}
	classes, err := filepath.Glob(b.dir + "/classes/org/example/*.class")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range classes {
		content, err := os.ReadFile(c)
		if err != nil {
			t.Fatal(err)
		}
		entries["org/example/"+filepath.Base(c)] = string(content)
	}
	if err := os.Mkdir(b.dir+"/lib", 0o755); err != nil {
		t.Fatal(err)
	}
	writeJar(t, b.dir+"/lib/main.jar", entries)
	write(t, b.dir+"/conf/greeting.txt", "from the folder\n")
	b.open(tweak)
	t.Cleanup(func() { b.store.Close() })
	return b
}

func (b *bench) open(tweak func(*Config)) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	cfg := Config{Dir: b.dir + "/archives", MaxBytes: 1 << 30, Timeout: time.Minute, Log: logrus.NewEntry(log)}
	if tweak != nil {
		tweak(&cfg)
	}
	var err error
	if b.store, err = Open(cfg); err != nil {
		b.t.Fatal(err)
	}
}

// run runs the program as a container would and returns its script's command, and what it printed.
func (b *bench) run(options string) (command, output string) {
	b.t.Helper()
	b.n++
	work := filepath.Join(b.dir, "work", strings.Repeat("x", b.n))
	if err := os.MkdirAll(work, 0o755); err != nil {
		b.t.Fatal(err)
	}
	s := launch.Script{
		LogDir: work, Env: []launch.Var{{Name: "PATH", Value: os.Getenv("PATH")}, {Name: "PWD", Value: work}, {Name: "CLASSPATH", Value: "$PWD:" + b.dir + "/conf:" + b.dir + "/lib/*:$PWD/*"}},
		Command: []string{"java", options, "org.example.Main", "world", "1>stdout", "2>stderr"},
	}
	ended := b.store.Prepare(&s, Container{ID: "c", App: "a", User: "someone", Owner: b.owner, Work: work, Locals: []string{b.dir}})
	text, err := s.Bytes()
	if err != nil {
		b.t.Fatal(err)
	}
	write(b.t, work+"/"+launch.ScriptFile, string(text))
	cmd := exec.Command("/bin/bash", launch.ScriptFile)
	cmd.Dir = work
	if o := b.owner; o != nil {
		if err := os.Chown(work, o.UID, o.GID); err != nil {
			b.t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}}
	}
	if err := cmd.Run(); err != nil {
		b.t.Fatal(err)
	}
	if ended != nil {
		ended()
	}
	var out []byte
	for _, f := range []string{"stdout", "stderr"} {
		part, err := os.ReadFile(work + "/" + f)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, part...)
	}
	return strings.Join(s.Command, " "), string(out)
}

// idle waits until nothing is left to build.
func (b *bench) idle() {
	b.t.Helper()
	done := make(chan struct{})
	b.store.add(func(context.Context) { close(done) })
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		b.t.Fatal("the store is still building")
	}
}

const want = "hello, world\nfrom the folder\n"

// archived runs the program until an archive is used.
func (b *bench) archived() string {
	b.t.Helper()
	for range 4 {
		command, out := b.run("")
		if out != want {
			b.t.Fatalf("%s printed %q", command, out)
		}
		if strings.Contains(command, "-XX:SharedArchiveFile=") {
			return command
		}
		b.idle()
	}
	b.t.Fatal("no archive is used")
	return ""
}

func (b *bench) archives() []string {
	found, err := filepath.Glob(b.dir + "/archives/someone/*.jsa")
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// The JVM accepts the archives: with -Xshare:on it would refuse to start otherwise. The output stays the same, and so it does
// when an archive is broken or gone.
func TestArchiveIsUsed(t *testing.T) {
	var unseated atomic.Int32
	b := newBench(t, func(c *Config) {
		c.Unseat = func(pid int) error {
			unseated.Store(int32(pid))
			return nil
		}
	})
	command := b.archived()
	if unseated.Load() == 0 {
		t.Error("the program that makes archives gets the CPU before containers do")
	}
	strict := exec.Command("/bin/bash", "-c", strings.NewReplacer("-Xshare:auto", "-Xshare:on -Xlog:class+load", "1>stdout 2>stderr", "").Replace(command))
	strict.Dir = b.dir
	for _, v := range strings.Split(os.Getenv("PATH"), "\x00") {
		strict.Env = append(strict.Env, "PATH="+v)
	}
	cover, err := filepath.Glob(b.dir + "/archives/someone/cover-*.jar")
	if err != nil || len(cover) != 1 {
		t.Fatalf("%v, %v", cover, err)
	}
	strict.Env = append(strict.Env, "CLASSPATH="+cover[0]+":"+b.dir+"/lib/main.jar:"+b.dir+"/conf")
	out, err := strict.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("org.example.Main source: shared objects file")) {
		t.Errorf("%s: %v\n%s", command, err, out)
	}

	archive := b.archives()[0]
	whole, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"half": whole[:len(whole)/2], "none": nil, "noise": bytes.Repeat([]byte("noise"), len(whole)/5)} {
		if err := os.Remove(archive); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(archive, content, 0o400); err != nil {
			t.Fatal(err)
		}
		if command, out := b.run(""); out != want || !strings.Contains(command, archive) {
			t.Errorf("%s archive: %s printed %q", name, command, out)
		}
	}
}

// A jar that was changed has no archive, nor has the program with options that name what the store leaves alone.
func TestMismatch(t *testing.T) {
	b := newBench(t, nil)
	b.archived()
	if command, out := b.run("-Xshare:off"); out != want || strings.Contains(command, "Archive") {
		t.Errorf("%s printed %q", command, out)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(b.dir+"/lib/main.jar", later, later); err != nil {
		t.Fatal(err)
	}
	if command, out := b.run(""); out != want || strings.Contains(command, "SharedArchiveFile") {
		t.Errorf("%s printed %q", command, out)
	}
}

// Where programs run as their users, archives are made by these users, and nobody else of them can read or change them.
func TestOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to run programs as somebody else")
	}
	b := newBench(t, nil)
	b.owner = &userfiles.User{UID: 65534, GID: 65534}
	if err := os.Chmod(filepath.Dir(b.dir), 0o755); err != nil { // the test's own
		t.Fatal(err)
	}
	b.archived()
	as := func(uid uint32, command string) error {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		return cmd.Run()
	}
	archive := b.archives()[0]
	if err := as(65534, "cat "+archive+" > /dev/null"); err != nil {
		t.Errorf("the user can't read its archive: %v", err)
	}
	for _, c := range []struct {
		uid     uint32
		command string
	}{{65533, "cat " + archive}, {65534, "echo x > " + filepath.Dir(archive) + "/x"}, {65534, "rm -f " + archive}, {65534, "ls " + filepath.Dir(archive)}} {
		if as(c.uid, c.command) == nil {
			t.Errorf("user %d was not kept from: %s", c.uid, c.command)
		}
	}
}

// A store that is opened anew has the archives of the last one.
func TestArchivesSurviveRestart(t *testing.T) {
	b := newBench(t, nil)
	b.archived()
	before := b.archives()
	write(t, before[0]+".new", "left over")
	b.store.Close()
	b.open(nil)
	b.archived()
	if after := b.archives(); len(after) != 1 || after[0] != before[0] {
		t.Errorf("%v, before %v", after, before)
	}
	if _, err := os.Stat(before[0] + ".new"); !os.IsNotExist(err) {
		t.Errorf("left over: %v", err)
	}
}

// Nothing is kept that is too large, and programs go on without.
func TestNoRoom(t *testing.T) {
	for name, tweak := range map[string]func(*Config){
		"archives are too large": func(c *Config) { c.MaxBytes = 1 << 10 },
		"the disk is full":       func(c *Config) { c.MinFree = 1 << 60 },
		"dumps are killed":       func(c *Config) { c.Timeout = time.Millisecond },
	} {
		b := newBench(t, tweak)
		for range 3 {
			if command, out := b.run(""); out != want || strings.Contains(command, "SharedArchiveFile") {
				t.Errorf("%s: %s printed %q", name, command, out)
			}
			b.idle()
		}
		if left, err := filepath.Glob(b.dir + "/archives/*/*"); err != nil || strings.Contains(strings.Join(left, " "), "jsa") || strings.Contains(strings.Join(left, " "), buildPrefix) {
			t.Errorf("%s: %v, %v", name, left, err)
		}
	}
}

// What was not used for the longest time goes first.
func TestEviction(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxBytes = 250 })
	for i, name := range []string{"old.jsa", "used.jsa", "kept.jsa", "cover-1.jar"} {
		path := b.dir + "/archives/u/" + name
		write(t, path, strings.Repeat("x", 100))
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if !b.store.touch(&plan{prog: &program{folder: "u"}}, "used.jsa") {
		t.Error("a file that is there was not found")
	}
	b.store.evict("u", "kept.jsa")
	left, err := filepath.Glob(b.dir + "/archives/u/*")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range left {
		names = append(names, filepath.Base(l))
	}
	if got := strings.Join(names, " "); got != "cover-1.jar kept.jsa" {
		t.Error(got)
	}
}

func TestOptionsWithoutArchive(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Options = []string{"-XX:TieredStopAtLevel=1"} })
	if command, out := b.run("-Xmx64m"); out != want || !strings.Contains(command, "java -XX:DumpLoadedClassList=") || !strings.Contains(command, "-XX:TieredStopAtLevel=1 -Xmx64m") {
		t.Errorf("%s printed %q", command, out)
	}
	s := launch.Script{Command: []string{"python3", "x.py"}}
	if ended := b.store.Prepare(&s, Container{ID: "c", User: "u"}); ended != nil || strings.Join(s.Command, " ") != "python3 x.py" {
		t.Errorf("%v", s.Command)
	}
}
