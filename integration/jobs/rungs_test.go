package jobs

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// rememberVariable has the test's own program hold random memory. Its value is a folder: a file ask there is answered by a file sum with the
// checksum of the memory, and done ends it. It writes on to a file ticks meanwhile.
const rememberVariable = "JOBS_TEST_REMEMBER"

const remembered = 128 << 20

func randomBytes() []byte {
	memory := make([]byte, remembered)
	rand.NewChaCha8([32]byte{7}).Read(memory)
	return memory
}

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

func remember(dir string) {
	memory := randomBytes()
	in := func(name string) string { return filepath.Join(dir, name) }
	there := func(name string) bool { _, err := os.Stat(in(name)); return err == nil }
	ticks := must(os.Create(in("ticks")))
	for must(ticks.WriteString(".")) > 0 && !there("done") {
		if there("ask") {
			must(0, os.Remove(in("ask")))
			must(0, os.WriteFile(in("sum.part"), []byte(sumOf(memory)), 0o644))
			must(0, os.Rename(in("sum.part"), in("sum")))
		}
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Println(sumOf(memory))
}

// ladder is a container on a cluster, with an executor and a command that remembers.
type ladder struct {
	*cluster
	*xargs
	t       *testing.T
	dir, id string
}

// climber starts one.
func (c *cluster) climber(t *testing.T) *ladder {
	t.Helper()
	l := &ladder{cluster: c, t: t, dir: t.TempDir()}
	l.xargs = c.xargs("-P", "1", "--memory", "512", "-I{}", "sh", "-c",
		`echo $CONTAINER_ID >`+l.dir+`/id.part; mv `+l.dir+`/id.part `+l.dir+`/id; `+rememberVariable+`=`+l.dir+` exec "$0"`, os.Args[0])
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("heddle xargs says: %s", l.stderr)
			for _, f := range must(filepath.Glob(c.dir + "/nm1/log/*/*/std*")) {
				t.Logf("%s: %s", f, must(os.ReadFile(f)))
			}
		}
	})
	l.feed(0, 1)
	l.id = await.Value(t, "the command begins", func() (string, bool) {
		b, err := os.ReadFile(filepath.Join(l.dir, "id"))
		return strings.TrimSpace(string(b)), err == nil
	})
	await.Until(t, "it remembers", func() bool { _, err := os.Stat(filepath.Join(l.dir, "ticks")); return err == nil })
	return l
}

// state is what the container's node says of it.
type state struct {
	Level, WantedLevel string
	Suspended          bool
	LastBreathTime     int64
	SwappedBytes       int64
}

func (l *ladder) state() (s state, known bool) {
	resp, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + l.Address("nm1", "yarn.nodemanager.webapp.address") + "/ws/v1/heddle/containers/" + l.id)
	if err != nil {
		return s, false
	}
	defer resp.Body.Close()
	var answer struct{ Container state }
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Container, err == nil && resp.StatusCode == http.StatusOK
}

// begin has heddle container do something. The daemon that it talks to may be killed meanwhile.
func (l *ladder) begin(args ...string) (end func() (string, error)) {
	cmd := exec.Command(l.binary, append([]string{"container", "--conf", l.conf}, args...)...)
	done := make(chan error, 1)
	var out []byte
	go func() {
		var err error
		out, err = cmd.CombinedOutput()
		done <- err
	}()
	return func() (string, error) {
		err := <-done
		return string(out), err
	}
}

// agree waits until node and ResourceManager say that the container is at a level.
func (l *ladder) agree(level string) {
	l.t.Helper()
	var got state
	var listed string
	defer func() {
		if l.t.Failed() {
			l.t.Logf("its node says %+v, the ResourceManager %s", got, listed)
		}
	}()
	await.Slowly(l.t, "node and ResourceManager agree on "+level, func() bool {
		var known bool
		if got, known = l.state(); !known || got.Level != level || got.WantedLevel != level {
			return false
		}
		var err error
		listed, err = l.begin("-listSuspended")()
		if level == "running" {
			return err == nil && !strings.Contains(listed, l.id)
		}
		return err == nil && strings.Contains(listed, l.id) && strings.Contains(listed, strings.ToUpper(level))
	})
}

func (l *ladder) ticks() int64 {
	l.t.Helper()
	return must(os.Stat(filepath.Join(l.dir, "ticks"))).Size()
}

func (l *ladder) progress() {
	l.t.Helper()
	before := l.ticks()
	await.Slowly(l.t, "progress", func() bool { return l.ticks() > before })
}

// intact holds the command's memory against what it was.
func (l *ladder) intact(want string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, "ask"), nil, 0o644); err != nil {
		l.t.Fatal(err)
	}
	sum := filepath.Join(l.dir, "sum")
	var got string
	await.Slowly(l.t, "a checksum", func() bool { // all of the memory may have to be paged in first
		b, err := os.ReadFile(sum)
		got = string(b)
		return err == nil
	})
	if err := os.Remove(sum); err != nil || got != want {
		l.t.Errorf("its memory has the sum %s, and had %s (%v)", got, want, err)
	}
}

// rung is a step of the ladder: how a container gets there, and what it is to be if everybody who knows of it is killed just then.
type rung struct {
	name  string
	down  []string // options of -suspend; nil: it resumes
	at    func(s, before state) bool
	level string
}

var rungs = []rung{
	{"shrunk", []string{"-level", "shrunk", "-hold", "memory-mb=300,vcores=1"}, is("shrunk", "shrunk"), "shrunk"},
	{"footprint", []string{"-level", "shrunk", "-hold", "memory-mb=64,vcores=0"}, is("shrunk", "shrunk"), "shrunk"},
	{"frozen", []string{"-level", "frozen", "-breathe", "never"}, is("frozen", "frozen"), "frozen"},
	{"reclaiming", []string{"-level", "reclaimed", "-breathe", "never"}, func(s, _ state) bool { return s.WantedLevel == "reclaimed" && s.Level != "running" }, "reclaimed"},
	{"reclaimed", []string{"-level", "reclaimed", "-breathe", "never"}, is("reclaimed", "reclaimed"), "reclaimed"},
	{"breathing", []string{"-level", "reclaimed", "-breathe", "5s"}, func(s, before state) bool {
		return s.Level == "reclaimed" && s.LastBreathTime > before.LastBreathTime
	}, "reclaimed"},
	{"resuming", nil, func(s, _ state) bool { return s.WantedLevel == "running" }, "running"},
}

func is(level, wanted string) func(s, _ state) bool {
	return func(s, _ state) bool { return s.Level == level && s.WantedLevel == wanted }
}

// A NodeManager, the ResourceManager that leads, or both are killed while a container is on each rung of the ladder, on whatever groups this machine
// has; in the virtual machine they are cgroups v2. Those that come after bring it to where it was to be, its memory is what it was, its socket and its
// file go on, it resumes, and nothing is left in the end.
func TestKilledOnEachRung(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes minutes
	swapfile.On(t, 512<<20)
	nmtest.RealGroups(t)
	c := startCluster(t, 3, 1, nil)
	c.pagesOut()
	l := c.climber(t)
	await.Slowly(t, "the ledger records levels", func() bool {
		out, err := l.begin("-suspend", l.id, "-level", "reclaimed", "-breathe", "never")()
		return err == nil || strings.Contains(out, "already")
	})
	want := sumOf(randomBytes())
	for _, victim := range []string{"nobody", "node", "leader", "both"} {
		for _, r := range rungs {
			if !t.Run(victim+" at "+r.name, func(t *testing.T) {
				defer func(was *testing.T) { l.t = was }(l.t)
				l.t = t
				l.kills(victim, r, want)
			}) {
				return // it isn't known where the container is
			}
		}
	}
	if err := os.WriteFile(filepath.Join(l.dir, "done"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l.in.Close()
	if code := l.code(); code != 0 || l.stdout.String() != want+"\n" {
		t.Errorf("exit code %d, %q: %s", code, l.stdout, l.stderr)
	}
	await.Slowly(t, "nothing is left", func() bool { return len(hadooplab.Groups(t, l.id))+len(processes(l.dir)) == 0 })
}

// kills has daemons killed while the container is on a rung.
func (l *ladder) kills(victim string, r rung, want string) {
	t := l.t
	up := func() {
		t.Helper()
		await.Slowly(t, "it resumes", func() bool { _, err := l.begin("-resume", l.id)(); return err == nil })
		l.agree("running")
	}
	if r.down != nil {
		up()
	} else {
		l.agree("reclaimed")
	}
	before, _ := l.state()
	args := []string{"-resume", l.id}
	if r.down != nil {
		args = append([]string{"-suspend", l.id}, r.down...)
	}
	end := l.begin(args...)
	at := await.Value(t, "it is "+r.name, func() (state, bool) { s, known := l.state(); return s, known && r.at(s, before) })
	t.Logf("level %s, and %s is wanted", at.Level, at.WantedLevel)
	var dead []string
	if victim == "leader" || victim == "both" {
		dead = append(dead, l.leader())
	}
	if victim == "node" || victim == "both" {
		dead = append(dead, "nm1")
	}
	for _, id := range dead {
		l.Kill(id)
	}
	for _, id := range dead {
		l.start(id)
	}
	if out, err := end(); err != nil && len(dead) == 0 {
		t.Errorf("%v: %s", err, out)
	}
	l.agree(r.level)
	switch r.level {
	case "frozen", "reclaimed":
		if slices.Contains(r.down, "never") {
			still := l.ticks()
			if _, err := l.begin("-listSuspended")(); err != nil || l.ticks() != still {
				t.Errorf("it doesn't stand still: %v", err)
			}
		}
	default:
		l.progress()
	}
	up()
	l.progress()
	l.intact(want)
	if r.name == "breathing" { // the next one resumes
		if out, err := l.begin("-suspend", l.id, "-level", "reclaimed", "-breathe", "never")(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
