package nm

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/userfiles"
	"heddle/nm/container"
	"heddle/nm/localizer"
	"heddle/nm/runas"
	"heddle/yarn/account"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Two users whom every Linux has: mallory and her victim.
const (
	mallory = "daemon"
	victim  = "games"
)

// hostileLab is a node of root's whose containers run as their users, and a folder that everybody can pass through.
type hostileLab struct {
	*lab
	users map[string]*userfiles.User
}

func newHostileLab(t *testing.T, set ...string) *hostileLab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it takes root to run containers as their users")
	}
	l := &hostileLab{users: map[string]*userfiles.User{}, lab: newLab(t, append([]string{
		"yarn.nodemanager.container-executor.class=" + linuxExecutor,
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users=false",
		runas.AllowedKey + "=" + mallory + "," + victim,
	}, set...)...)}
	for _, dir := range []string{l.dir, filepath.Dir(l.dir)} { // the test's own
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{mallory, victim} {
		a, err := account.System.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		l.users[name] = &userfiles.User{UID: a.UID, GID: a.GID, Groups: a.Groups}
	}
	return l
}

// submit starts a container of a user's.
func (l *hostileLab) submit(user string, id records.ContainerID, command string, resources map[string]*pb.LocalResource) *container.Container {
	l.t.Helper()
	lc := launchContext(command)
	var list []*pb.StringLocalResourceMap
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		e := &pb.StringLocalResourceMap{}
		e.SetKey(name)
		e.SetValue(resources[name])
		list = append(list, e)
	}
	lc.SetLocalResources(list)
	r := &pb.StartContainerRequest{}
	r.SetContainerLaunchContext(lc)
	r.SetContainerToken(l.grant(id, func(m *pb.ContainerTokenIdentifier) { m.SetAppSubmitter(user) }))
	who := l.as(id.Attempt, func(n *token.NM) { n.Submitter = user })
	resp, err := protocol.StartContainers.Call(l.t.Context(), who, startRequest(r))
	if err != nil || len(resp.GetSucceededRequests()) != 1 {
		l.t.Fatalf("%v, %v", resp, err)
	}
	c, err := l.node.Containers().Container(id)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func (l *hostileLab) done(c *container.Container) container.Status {
	l.t.Helper()
	await.Until(l.t, "DONE", func() bool { return c.State() == container.Done })
	return c.Status()
}

// write makes a file of a user's, or root's, with all folders above it.
func (l *hostileLab) write(path, content string, dirMode, mode fs.FileMode, user string) string {
	l.t.Helper()
	path = filepath.Join(l.dir, path)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Chmod(filepath.Dir(path), dirMode),
		os.WriteFile(path, []byte(content), mode), os.Chmod(path, mode))
	if u := l.users[user]; err == nil && u != nil {
		err = errors.Join(os.Chown(path, u.UID, u.GID), os.Chown(filepath.Dir(path), u.UID, u.GID))
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return path
}

// meanwhile does something as mallory, over and over, until the function that is returned is called.
func (l *hostileLab) meanwhile(do func()) (stop func()) {
	quit, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- userfiles.As(l.users[mallory], func() error {
			for {
				select {
				case <-quit:
					return nil
				default:
					do()
				}
			}
		})
	}()
	return func() {
		close(quit)
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	}
}

func fileResource(path string, v localizer.Visibility, info os.FileInfo) *pb.LocalResource {
	u := &pb.URL{}
	u.SetScheme("file")
	u.SetFile(path)
	r := &pb.LocalResource{}
	r.SetResource(u)
	r.SetSize(info.Size())
	r.SetTimestamp(info.ModTime().UnixMilli())
	r.SetType(pb.LocalResourceType(localizer.File))
	r.SetVisibility(pb.LocalResourceVisibility(v))
	return r
}

// resource is a file as its owner sees it.
func (l *hostileLab) resource(path string, v localizer.Visibility) *pb.LocalResource {
	l.t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		l.t.Fatal(err)
	}
	return fileResource(path, v, info)
}

// state tells of all files below a folder whose they are and what is in them.
func state(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(content)
		}
		fmt.Fprintf(&b, "%s %v %d %q\n", path, info.Mode(), info.Sys().(*syscall.Stat_t).Uid, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// asked waits for what Localize came to, by name.
func (l *hostileLab) asked(c *container.Container) map[string]container.LocalizationStatus {
	l.t.Helper()
	out := map[string]container.LocalizationStatus{}
	await.Until(l.t, "an answer to Localize", func() bool {
		clear(out)
		for _, s := range c.LocalizationStatuses() {
			if s.State == pb.LocalizationState_L_PENDING {
				return false
			}
			out[s.Key] = s
		}
		return true
	})
	return out
}

// A container that puts a link in place of its work folder gets nothing linked, handed over or deleted where the link leads.
func TestAWorkFolderSwappedForALink(t *testing.T) {
	l := newHostileLab(t)
	l.up()
	in := l.write("src/in", "content", 0o755, 0o644, "")
	other := filepath.Join(l.dir, "other")
	for _, name := range []string{"launch_container.sh", "container_tokens", "sub/mine", "tmp/mine"} {
		l.write("other/"+name, "the victim's", 0o755, 0o644, victim)
	}
	before := state(t, other)
	c := l.submit(mallory, containerID(1, 1), "cd ..; mv $PWD moved; ln -s "+other+" $PWD; touch moved/ready; exec sleep 600", nil)
	l.running(c)
	work := c.Status().WorkDir
	ready := filepath.Join(filepath.Dir(work), "moved/ready")
	await.Until(t, "the swap", func() bool { _, err := os.Lstat(ready); return err == nil })
	err := c.Localize(map[string]*pb.LocalResource{
		"in": l.resource(in, localizer.Application), "sub/in": l.resource(in, localizer.Application), "new/in": l.resource(in, localizer.Private),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range l.asked(c) {
		if s.State != pb.LocalizationState_L_FAILED || !strings.Contains(s.Why, "not a directory") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if err := c.Restart(); err != nil {
		t.Fatal(err)
	}
	l.done(c) // as its work folder is gone
	l.node.Containers().FinishApplication(c.ID().Attempt.App, "")
	await.Until(t, "the end of the application", func() bool { return len(l.node.Containers().Applications()) == 0 })
	await.Until(t, "all deletions", func() bool { return len(l.node.deleter.Pending()) == 0 })
	if after := state(t, other); after != before {
		t.Errorf("the victim's folder became\n%swas\n%s", after, before)
	}
}

// The same with a work folder that is swapped all the time.
func TestAWorkFolderSwappedAllTheTime(t *testing.T) {
	l := newHostileLab(t)
	l.up()
	in := l.write("src/in", "content", 0o755, 0o644, "")
	other := filepath.Join(l.dir, "other")
	for _, name := range []string{"launch_container.sh", "container_tokens", "sub/mine", "tmp/mine"} {
		l.write("other/"+name, "the victim's", 0o755, 0o644, victim)
	}
	before := state(t, other)
	c := l.submit(mallory, containerID(1, 1), "touch begun; exec sleep 600", nil)
	l.running(c)
	work := c.Status().WorkDir
	await.Until(t, "its command to run", func() bool {
		_, err := os.Lstat(filepath.Join(work, "begun"))
		return err == nil
	})
	moved := filepath.Join(filepath.Dir(work), "moved")
	stop := l.meanwhile(func() {
		os.Rename(work, moved)
		os.Symlink(other, work)
		os.Remove(work)
		os.Rename(moved, work)
	})
	res := map[string]*pb.LocalResource{}
	for i := range 200 {
		res[fmt.Sprintf("sub%d/in", i)] = l.resource(in, localizer.Application)
		res[fmt.Sprintf("in%d", i)] = l.resource(in, localizer.Application)
	}
	if err := c.Localize(res); err != nil {
		t.Fatal(err)
	}
	came := map[pb.LocalizationState]int{}
	for _, s := range l.asked(c) {
		came[s.State]++
	}
	c.Kill(records.ExitKilledByAppMaster, "")
	l.done(c)
	await.Until(t, "all deletions", func() bool { return len(l.node.deleter.Pending()) == 0 })
	stop()
	if after := state(t, other); after != before {
		t.Errorf("the victim's folder became\n%swas\n%s", after, before)
	}
	t.Logf("links: %v", came)
}

// A PUBLIC file that only root can reach isn't copied to where everybody reads it, nor is what everybody can't read along the whole path.
func TestPublicFilesAreThoseThatTheUserCanRead(t *testing.T) {
	l := newHostileLab(t)
	l.up()
	const content = "token keys"
	secret := l.write("private/keys", content, 0o700, 0o644, "")
	ofGroup := l.write("group/keys", content, 0o750, 0o644, mallory)
	l.write("pub/ok", "for all", 0o755, 0o644, mallory)
	link := func(name, to string) string {
		path := filepath.Join(l.dir, "pub", name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	n := 0
	for path, want := range map[string]string{
		link("to-file", secret): "permission denied", link("to-folder", filepath.Dir(secret)) + "/keys": "permission denied",
		link("to-group", ofGroup): "is not publicly accessible", l.write("pub/closed", "x", 0o755, 0o640, mallory): "is not publicly accessible",
	} {
		n++
		c := l.submit(mallory, containerID(1, int64(n)), "true", map[string]*pb.LocalResource{"x": l.resource(path, localizer.Public)})
		if s := l.done(c); !strings.Contains(s.Diagnostics, want) {
			t.Errorf("%s: %q, want %s", path, s.Diagnostics, want)
		}
	}
	c := l.submit(mallory, containerID(1, 100), "true", map[string]*pb.LocalResource{"x": l.resource(link("to-ok", l.dir+"/pub/ok"), localizer.Public)})
	if s := l.done(c); s.ExitCode != 0 {
		t.Errorf("a PUBLIC file: %d, %q", s.ExitCode, s.Diagnostics)
	}
	l.notCached(content)
}

// notCached fails if a file in the public cache has a content.
func (l *hostileLab) notCached(content string) (files int) {
	l.t.Helper()
	err := filepath.WalkDir(filepath.Join(l.dir, "nm-local-dir", localizer.FileCache), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if files++; strings.Contains(string(b), content) {
			l.t.Errorf("%s was copied into the public cache", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	return files
}

// Nor is one that is swapped between two looks at it.
func TestAPublicFileSwappedBetweenLooks(t *testing.T) {
	l := newHostileLab(t)
	l.up()
	c := l.submit(mallory, containerID(1, 1), "exec sleep 600", nil)
	l.running(c)
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	const files = 60
	for i := range files {
		for path, content := range map[string]string{"good": "for all", "bad": "secret!"} {
			mode := fs.FileMode(0o755)
			if path == "bad" {
				mode = 0o700
			}
			file := l.write(fmt.Sprintf("%s/f%d", path, i), content, mode, 0o644, "")
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.write("pub/x", "", 0o755, 0o644, mallory)
	current, next := filepath.Join(l.dir, "pub/current"), filepath.Join(l.dir, "pub/next")
	if err := userfiles.As(l.users[mallory], func() error { return os.Symlink(l.dir+"/good", current) }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(l.dir + "/good/f0")
	if err != nil {
		t.Fatal(err)
	}
	stop := l.meanwhile(func() {
		for _, to := range []string{"/bad", "/good"} {
			os.Symlink(l.dir+to, next)
			os.Rename(next, current)
		}
	})
	res := map[string]*pb.LocalResource{}
	for i := range files {
		name := fmt.Sprintf("f%d", i)
		res[name] = fileResource(current+"/"+name, localizer.Public, info)
	}
	if err := c.Localize(res); err != nil {
		t.Fatal(err)
	}
	l.asked(c)
	stop()
	t.Logf("%d files were copied", l.notCached("secret!"))
}

// A path through /proc doesn't lead to what the NodeManager has open.
func TestFilesThatTheNodeManagerHasOpen(t *testing.T) {
	l := newHostileLab(t)
	l.up()
	secret := l.write("private/open", "what is open", 0o700, 0o644, "")
	f, err := os.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	byLink := filepath.Join(l.dir, "by-link")
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if err := os.Symlink(path, byLink); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for _, p := range []string{path, byLink, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()), "/proc/self/environ", "/sys/kernel/notes", "/dev/null", "/dev/shm/x"} {
		for _, v := range []localizer.Visibility{localizer.Public, localizer.Private, localizer.Application} {
			n++
			c := l.submit(mallory, containerID(1, n), "cat x > copy; exec sleep 600", map[string]*pb.LocalResource{"x": fileResource(p, v, info)})
			if s := l.done(c); !strings.Contains(s.Diagnostics, p) {
				t.Errorf("%s, %v: %+v", p, v, s)
			}
		}
	}
	l.notCached("what is open")
}

// Root and system accounts get no containers, in the words of Hadoop's container-executor; others aren't disturbed.
func TestSystemAccountsGetNoContainers(t *testing.T) {
	l := newHostileLab(t)
	l.up()
	for i, c := range []struct{ user, want string }{
		{"root", "Running as root is not allowed"},
		{"bin", "Requested user bin is not whitelisted and has id 2,which is below the minimum allowed 1000"},
		{mallory, ""},
	} {
		s := l.done(l.submit(c.user, containerID(int32(i+1), 1), "id -un > <LOG_DIR>/stdout", nil))
		if (s.ExitCode == 0) != (c.want == "") || !strings.Contains(s.Diagnostics, c.want) {
			t.Errorf("%s: exit code %d, %q, want %s", c.user, s.ExitCode, s.Diagnostics, c.want)
		}
	}
}

// Somebody else's log isn't shown as one's own by a hard link to it, where the kernel lets users make those.
func TestTailsOfSomebodyElsesFiles(t *testing.T) {
	l := newHostileLab(t)
	l.up()
	c := l.submit(mallory, containerID(1, 1), "touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 3", nil)
	l.running(c)
	s := c.Status()
	await.Until(t, "the start", func() bool { _, err := os.Lstat(s.WorkDir + "/ready"); return err == nil })
	secret := l.write("private/log", "the victim's log", 0o700, 0o600, victim)
	if err := os.Link(secret, s.LogDirs[0]+"/stderr"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.WorkDir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := l.done(c); s.ExitCode != 3 || strings.Contains(s.Diagnostics, "the victim's log") {
		t.Errorf("%d, %q", s.ExitCode, s.Diagnostics)
	}
}
