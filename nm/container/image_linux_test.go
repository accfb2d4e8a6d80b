package container

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/internal/imagetest"
	"heddle/internal/needs"
	"heddle/internal/userfiles"
	"heddle/nm/image"
	"heddle/nm/image/layer"
	wanted "heddle/nm/image/request"
	"heddle/nm/image/runc"
	"heddle/nm/image/store"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/nm/proc"
	"heddle/nm/suspend"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// imageLab is a node that runs images, each user as one of their own. The image is there as a folder, an archive, and one of docker's.
func newImageLab(t testing.TB, tweak ...func(*image.Config)) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
	needs.Program(t, "crun")
	var dir string
	var last *image.Runner
	t.Cleanup(func() {
		last.Close()
		checkNoMounts(t, dir)
	})
	l := newDeadLab(t)
	dir = l.dir
	for dir := l.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	i := imagetest.Image{
		Layers: []imagetest.Layer{
			imagetest.Programs(t, "sleep", "cat", "id", "ls", "touch", "mkdir", "ln", "cp", "chmod", "find", "head", "tail", "tr", "wc", "grep", "mknod"),
			imagetest.Tar(t, imagetest.File("from-image", "hello"), imagetest.File("gone", "x")),
			imagetest.Tar(t, imagetest.File(".wh.gone", "")),
		},
		Env: []string{"OF_IMAGE=yes", "LANG=of image"}, Entrypoint: []string{"/bin/bash", "-c", "echo entry $0 $1 $FLAG; echo bad >&2; exit 9"},
	}
	i.Layout(t, l.dir+"/images/team/folder/1", "")
	other := i
	other.Layers = i.Layers[:2]
	other.Layout(t, l.dir+"/images/team/other/1", "")
	i.Gzip = true
	i.Archive(t, l.dir+"/images/team/archive/1.tar", "1")
	i.Saved(t, l.dir+"/images/team/saved/1.tar", "team/saved:1")
	squashed := i
	squashed.Layers = []imagetest.Layer{i.Layers[0], i.Layers[1], imagetest.Tar(t, imagetest.Entry{Header: tar.Header{Name: "gone", Typeflag: tar.TypeChar, Mode: 0o600}})}
	squashed.Squashed(t, l.dir+"/runc-root", "team/squashed:1")
	section := wanted.Section{
		"module.enabled": "true", "trusted.registries": "team", "allowed.networks": "host,none", "allowed.capabilities": "CHOWN,KILL",
		"allowed.ro-mounts": l.dir + "/shared",
	}
	cfg := image.Config{
		Dirs: []string{l.dir + "/images"}, Runtime: "crun",
		Settings: wanted.Settings{Kinds: map[string]wanted.Terms{
			wanted.Docker: {Networks: []string{"host", "none", "bridge"}, Network: "host", Capabilities: []string{"CHOWN", "MKNOD"}, Section: section},
			wanted.Runc:   {Networks: []string{"host"}, Network: "host", Section: section},
		}},
		Runc:   &runc.Config{Top: "file://" + l.dir + "/runc-root", Tags: "file://" + l.dir + "/runc-root/image-tag-to-hash", Stat: time.Hour, Images: 10},
		Source: localizer.Sources{"file": localizer.LocalFiles{}},
		Store:  store.Config{Dir: l.dir + "/layers", MaxBytes: 1 << 30, Image: layer.Limits{Bytes: 1 << 30, Entries: 10000}},
	}
	for _, f := range tweak {
		f(&cfg)
	}
	l.tweak = func(o *Options) {
		o.Config.Owner = func(user string) (*userfiles.User, error) {
			uid := 20000 + len(user)
			return &userfiles.User{UID: uid, GID: uid, Groups: []int{uid, 21000}, Shared: 0}, nil
		}
		if last != nil {
			last.Close()
		}
		cfg.Store.Log = o.Log
		r, err := image.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		last, o.Images = r, r
	}
	l.start()
	return l
}

// checkNoMounts asserts that no mount of a container outlives it, in any mount namespace.
func checkNoMounts(t testing.TB, dir string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), dir) {
			t.Errorf("%s has a mount of %s", file, dir)
		}
	}
}

func asksFor(name string, more ...string) map[string]string {
	env := map[string]string{launch.RuntimeType: "docker", "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": name}
	for i := 0; i+1 < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	return env
}

func logOf(t *testing.T, s Status, name string) string {
	t.Helper()
	for _, dir := range s.LogDirs {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return string(b)
		}
	}
	t.Errorf("no %s; %s", name, s.Diagnostics)
	return ""
}

// Images are run on one node, whose layers are unpacked once.
func TestImages(t *testing.T) {
	l := newImageLab(t)
	for name, f := range map[string]func(*testing.T, *lab){
		"retry": retryInTheSameRoot, "three users": runThreeUsers, "entry point": runEntryPoint, "life": liveAndDie, "between lives": endBetweenLives, "tricks": refuseTricks,
		"squashed": runSquashed, "shrunk": shrinkAndGrow,
	} {
		t.Run(name, func(t *testing.T) { f(t, l) })
	}
}

// Three users run programs of an image, in each format that images have, as themselves and without any right of root's.
func runThreeUsers(t *testing.T, l *lab) {
	look := `cat /from-image; echo; id -u; id -g; id -G; id -un; echo $OF_IMAGE $LANG; ls / | cat; cat /proc/self/status; echo $$; ` +
		`touch /tmp/mine; touch new; (touch /usr/x || echo closed) 2>/dev/null; (touch /sys/fs/cgroup/cpu/x || echo closed) 2>/dev/null; ls /dev; exit 7`
	for i, user := range []string{"ann", "beth", "carol"} {
		name := []string{"team/folder:1", "team/archive:1", "team/saved:1"}[i]
		c := l.run(job{id: containerID(int32(i+1), 1), user: user, env: asksFor(name), command: "(" + look + ") 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"})
		s := waitDone(t, c)
		out := logOf(t, s, "stdout")
		uid := 20000 + len(user)
		for _, want := range []string{
			fmt.Sprintf("hello\n%d\n%[1]d\n%[1]d 21000\n%s\nyes of image\n", uid, user), "CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
			"NoNewPrivs:\t1\n", "CapBnd:\t0000000000000001\n", "\n1\nclosed\nclosed\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q: %s\n%s", name, want, out, logOf(t, s, "stderr"))
			}
		}
		if strings.Contains(out, "gone") || strings.Contains(out, "mem\n") || s.ExitCode != 7 {
			t.Errorf("%s: exit code %d: %s; %s", name, s.ExitCode, out, s.Diagnostics)
		}
	}
	if layers, err := os.ReadDir(l.dir + "/layers/layers"); err != nil || len(layers) != 3 && len(layers) != 6 {
		t.Errorf("%d layers, %v: want 3, which all share, and perhaps the 3 of the squashed image", len(layers), err)
	}
	if holders, err := os.ReadDir(l.dir + "/layers/holders"); err != nil || len(holders) > 0 {
		t.Errorf("layers are held by %v, %v", holders, err)
	}
}

// An image's own program runs with the container's words and variables, and its output is where Hadoop puts it.
func runEntryPoint(t *testing.T, l *lab) {
	env := asksFor("team/folder:1", "YARN_CONTAINER_RUNTIME_DOCKER_RUN_OVERRIDE_DISABLE", "true", "FLAG", "on", "YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK", "none")
	s := waitDone(t, l.run(job{id: containerID(4, 1), env: env, command: "a b,c"}))
	if out := logOf(t, s, "stdout.txt"); s.ExitCode != 9 || out != "entry a b c on\n" || logOf(t, s, "stderr.txt") != "bad\n" {
		t.Errorf("exit code %d, %q; %s", s.ExitCode, out, s.Diagnostics)
	}
}

// A container in an image freezes and goes on, gets signals, is found again by the next NodeManager, and is killed like any other. It
// leaves neither processes nor files.
func liveAndDie(t *testing.T, l *lab) {
	c := l.run(job{id: containerID(5, 1), env: asksFor("team/folder:1"), command: `trap 'echo heard >> heard; exit 12' TERM; touch ready; while :; do echo x >> beats; sleep 0.01; done`})
	await.Until(t, "the container runs", func() bool {
		s := c.Status()
		return s.State == Running && exists(s.WorkDir+"/ready") || s.State == Done
	})
	work := c.Status().WorkDir
	beats := func() int64 {
		fi, err := os.Stat(work + "/beats")
		if err != nil {
			return 0
		}
		return fi.Size()
	}
	if err := c.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := beats()
	l.restart()
	c = l.container(containerID(5, 1))
	await.Until(t, "it is found suspended", func() bool { return c.State() == Paused })
	if now := beats(); now != before {
		t.Fatalf("after the restart %d bytes are %d", before, now)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it goes on", func() bool { return beats() > before })
	private := c.record.Places.Private
	c.Kill(records.ExitKilledByAppMaster, "enough\n")
	if s := waitDone(t, c); s.ExitCode != 12 {
		t.Errorf("exit code %d of a program that heeds SIGTERM; %s", s.ExitCode, s.Diagnostics)
	}
	await.Until(t, "its files are gone", func() bool { return !exists(private) && !exists(work) })
}

// A container in an image shrinks: its program goes on with less of a processor, also under the next NodeManager, until it grows again.
func shrinkAndGrow(t *testing.T, l *lab) {
	c := l.run(job{id: containerID(11, 1), memory: 512, env: asksFor("team/folder:1"), command: `trap 'exit 13' TERM; touch ready; while :; do n=0; while [ $n -lt 100 ]; do n=$((n+1)); done; echo x >> beats; done`})
	await.Until(t, "the container runs", func() bool {
		s := c.Status()
		return s.State == Running && exists(s.WorkDir+"/ready") || s.State == Done
	})
	goesOn := func(when string) {
		t.Helper()
		beats := c.Status().WorkDir + "/beats"
		before := int64(0)
		if exists(beats) {
			before = size(t, beats)
		}
		await.Until(t, "it goes on "+when, func() bool { return exists(beats) && size(t, beats) > before })
	}
	isHeld := func(when string) {
		t.Helper()
		first, err := c.Group().Usage()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		goesOn(when)
		await.Until(t, "a second", func() bool { return time.Since(began) > time.Second })
		last, err := c.Group().Usage()
		if took := last.CPU - first.CPU; err != nil || took > time.Since(began)/10 {
			t.Errorf("%s it takes %v of a processor in %v, %v", when, took, time.Since(began), err)
		}
	}
	goesOn("at first")
	held := int64(512)
	if l.node.Groups.Capabilities().Reclaim {
		held = 128
	}
	order(t, c, level(suspend.Shrunk, held, 0, 1))
	settled(t, c, suspend.Shrunk)
	isHeld("shrunk")
	l.restart()
	c = l.container(containerID(11, 1))
	settled(t, c, suspend.Shrunk)
	isHeld("after a restart")
	if s := c.Status().Suspension; s.Holds != records.NewResource(held, 0) {
		t.Errorf("it holds %v", s.Holds)
	}
	order(t, c, level(suspend.Running, 512, 1, 2))
	settled(t, c, suspend.Running)
	if limits := c.box.Limits(); limits.CPU != 0 || limits.High != 0 {
		t.Errorf("grown again it is held to %+v", limits)
	}
	goesOn("grown again")
	c.Kill(records.ExitKilledByAppMaster, "enough\n")
	if s := waitDone(t, c); s.ExitCode != 13 {
		t.Errorf("exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
}

// The next NodeManager learns the exit code of a container that has ended between two lives, and releases its layers.
func endBetweenLives(t *testing.T, l *lab) {
	c := l.run(job{id: containerID(6, 1), env: asksFor("team/folder:1"), command: "touch ready; while ! [ -e go ]; do sleep 0.01; done; exit 11"})
	await.Until(t, "the container runs", func() bool { return exists(c.Status().WorkDir + "/ready") })
	work, keeper := c.Status().WorkDir, c.record.Keeper
	l.node.close()
	l.node = nil
	if err := os.WriteFile(work+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it ends", func() bool {
		p, err := proc.Read(keeper.PID)
		return err != nil || p.Dead()
	})
	l.start()
	if s := waitDone(t, l.container(containerID(6, 1))); s.ExitCode != 11 {
		t.Errorf("exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
	await.Until(t, "its layers are free", func() bool {
		holders, err := os.ReadDir(l.dir + "/layers/holders")
		return err == nil && len(holders) == 0
	})
}

// What a container may not have it doesn't get: mounts through links and of others' files, devices, and what else Docker's users ask for.
func refuseTricks(t *testing.T, l *lab) {
	shared := l.dir + "/shared"
	for _, dir := range []string{shared + "/sub", l.dir + "/secret"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/file", []byte(filepath.Base(dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": l.dir + "/secret", "root": "/", "null": "/dev/null"} {
		if err := os.Symlink(target, shared+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	const docker = "YARN_CONTAINER_RUNTIME_DOCKER_"
	n := int64(0)
	try := func(command string, more ...string) Status {
		n++
		c := l.run(job{
			id: containerID(7, n), env: asksFor("team/folder:1", more...), command: "(" + command + ") 1><LOG_DIR>/stdout 2>&1",
			resources: map[string]*pb.LocalResource{"res": l.file("res", "resource")},
		})
		return waitDone(t, c)
	}
	for name, c := range map[string]struct{ variable, value, want string }{
		"through a link":      {"MOUNTS", shared + "/link:/x:ro", "invalid docker ro mount"},
		"through a link's":    {"MOUNTS", shared + "/root/etc:/x:ro", "invalid docker ro mount"},
		"a device":            {"MOUNTS", shared + "/null:/x:ro", "invalid docker ro mount"},
		"not allowed":         {"MOUNTS", l.dir + "/secret:/x:ro", "invalid docker ro mount"},
		"not there":           {"MOUNTS", shared + "/none:/x:ro", "invalid docker ro mount"},
		"to write to":         {"MOUNTS", shared + "/sub:/x:rw", "invalid docker rw mount"},
		"no resource":         {"MOUNTS", "none:/x:ro", "localized resource"},
		"over its own folder": {"MOUNTS", shared + "/sub:" + l.dir + ":ro", "where its own folder"},
		"privileged":          {"RUN_PRIVILEGED_CONTAINER", "true", "Privileged container"},
		"a network":           {"CONTAINER_NETWORK", "bridge", "network bridge"},
		"all processes":       {"CONTAINER_PID_NAMESPACE", "host", "Host pid namespace"},
		"another image":       {"IMAGE", "evil/folder:1", "trusted"},
		"no image":            {"IMAGE", "team/none:1", "no such image"},
	} {
		if s := try("exit 0", docker+c.variable, c.value); s.ExitCode != -1 || !strings.Contains(s.Diagnostics, c.want) {
			t.Errorf("%s: exit code %d, %s; want %q", name, s.ExitCode, s.Diagnostics, c.want)
		}
	}
	s := try("cat /x/file /r/a; (echo y > /x/file) 2>/dev/null || echo closed; echo z > /tmp/fs/a && echo open; exit 3",
		docker+"MOUNTS", shared+"/sub:/x:ro,res:/r/a:ro", docker+"TMPFS_MOUNTS", "/tmp/fs")
	if out := logOf(t, s, "stdout"); s.ExitCode != 3 || out != "subresourceclosed\nopen\n" {
		t.Errorf("exit code %d, %q; %s", s.ExitCode, out, s.Diagnostics)
	}
	env := map[string]string{launch.RuntimeType: "runc", "YARN_CONTAINER_RUNTIME_RUNC_IMAGE": "team/saved:1"}
	if s := waitDone(t, l.run(job{id: containerID(7, 99), env: env, command: "exit 4"})); s.ExitCode != 4 {
		t.Errorf("runc: exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
}

// An image in the layout of Hadoop's runC runtime runs, for containers of runtime runc alone. Its layers are unpacked once.
func runSquashed(t *testing.T, l *lab) {
	env := map[string]string{launch.RuntimeType: "runc", "YARN_CONTAINER_RUNTIME_RUNC_IMAGE": "team/squashed:1"}
	for n := range int64(2) {
		s := waitDone(t, l.run(job{id: containerID(10, n+1), env: env, command: "(cat /from-image; id -u; ls / | cat) > <LOG_DIR>/stdout; exit 4"}))
		if s.ExitCode != 4 {
			t.Errorf("exit code %d; %s", s.ExitCode, s.Diagnostics)
		} else if out := logOf(t, s, "stdout"); !strings.HasPrefix(out, "hello20") || strings.Contains(out, "gone") {
			t.Errorf("%q", out)
		}
	}
	s := waitDone(t, l.run(job{id: containerID(10, 3), env: asksFor("team/squashed:1"), command: "exit 4"}))
	if s.ExitCode != -1 || !strings.Contains(s.Diagnostics, "no such image") {
		t.Errorf("runtime docker: exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
}

// A program that is started again finds what it has written to its root. With another image it doesn't.
func retryInTheSameRoot(t *testing.T, l *lab) {
	r := &pb.ContainerRetryContext{}
	r.SetRetryPolicy(pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS)
	r.SetMaxRetries(1)
	s := waitDone(t, l.run(job{id: containerID(8, 1), env: asksFor("team/folder:1"), retry: r, command: "if [ -e /tmp/mine ]; then exit 0; fi; touch /tmp/mine; exit 5"}))
	if s.ExitCode != 0 {
		t.Errorf("exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
	c := l.run(job{id: containerID(8, 2), env: asksFor("team/folder:1"), command: "trap 'exit 0' TERM; touch /tmp/mine ready; while :; do sleep 0.01; done"})
	await.Until(t, "it has written", func() bool { return exists(c.Status().WorkDir + "/ready") })
	to := proto.CloneOf(c.LaunchContext())
	for _, v := range to.GetEnvironment() {
		if strings.HasSuffix(v.GetKey(), "_IMAGE") {
			v.SetValue("team/other:1")
		}
	}
	to.SetCommand([]string{"if [ -e /tmp/mine ]; then exit 6; fi; exit 7"})
	if err := c.Reinitialize(to, true); err != nil {
		t.Fatal(err)
	}
	if s := waitDone(t, c); s.ExitCode != 7 {
		t.Errorf("exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
}

// The cost of an image whose layers are there: the container's start until its program has ended, beside one on the machine.
func BenchmarkStart(b *testing.B) {
	l := newImageLab(b)
	n := int64(0)
	for name, env := range map[string]map[string]string{"machine": {}, "image": asksFor("team/folder:1")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n++
				if s := waitDone(b, l.run(job{id: containerID(9, n), env: env, command: "exit 7"})); s.ExitCode != 7 {
					b.Fatal(s.Diagnostics)
				}
			}
		})
	}
}
