package nm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"
	logged "github.com/sirupsen/logrus/hooks/test"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/internal/publicdir"
	"heddle/internal/webanswer"
	"heddle/yarn/pb"
)

// manifestLab is a node whose services come from a manifest.
type manifestLab struct {
	*lab
	file, calls string
	log         *logged.Hook
}

func (m *manifestLab) up() {
	m.lab.up()
	m.log = logged.NewLocal(m.node.log.Logger)
}

// complaint waits for an error in the node's log.
func (m *manifestLab) complaint(text string) {
	m.t.Helper()
	await.Until(m.t, text, func() bool {
		for _, e := range m.log.AllEntries() {
			if e.Level == logrus.ErrorLevel && strings.Contains(e.Message, text) {
				m.log.Reset()
				return true
			}
		}
		return false
	})
}

func newManifestLab(t *testing.T) *manifestLab {
	t.Helper()
	m, set := ofManifest(t)
	m.lab = newLab(t, set...)
	return m
}

// ofManifest returns where a manifest and the calls of its service are, and the settings of a node with them.
func ofManifest(t *testing.T) (*manifestLab, []string) {
	t.Helper()
	calls, set := recorder(t)
	var keep []string
	classes := ""
	for _, s := range set {
		key, value, _ := strings.Cut(s, "=")
		switch {
		case key == auxKey+".recorder.classpath":
			classes = value
		case !strings.HasPrefix(key, auxKey) && key != "recorder.file":
			keep = append(keep, s)
		}
	}
	for i, s := range keep {
		if strings.HasPrefix(s, pathKey+"=") {
			keep[i] += ":" + classes
		}
	}
	file := filepath.Join(publicdir.New(t, "/run"), "manifest.json") // /tmp is writable by all
	return &manifestLab{file: file, calls: calls},
		append(keep, auxKey+".manifest.enabled=true", auxKey+".manifest=file://"+file, auxKey+".manifest.reload-ms=50", "yarn.admin.acl=root,admin")
}

// Records of services, as a manifest has them.
func (m *manifestLab) recorder(version, more string) string {
	return fmt.Sprintf(`{"name":"recorder","version":%q,"description":"x","configuration":{"properties":{"class.name":"heddle.test.Recorder","recorder.file":%q%s}}}`, version, m.calls, more)
}

const goShuffle = `{"name":"mapreduce_shuffle","configuration":{"properties":{"class.name":"org.apache.hadoop.mapred.ShuffleHandler","mapreduce.shuffle.port":0}}}`

// write replaces the manifest as a whole, with a time of its own.
func (m *manifestLab) write(services ...string) {
	m.t.Helper()
	text := `{"services":[` + strings.Join(services, ",") + `]}`
	if err := os.WriteFile(m.file+".new", []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(m.file+".new", m.file); err != nil {
		m.t.Fatal(err)
	}
}

// put sends a list to the node as a user.
func (m *manifestLab) put(user string, body io.Reader) (status int, text string) {
	m.t.Helper()
	url := "http://" + m.node.WebAddress() + "/ws/v1/node/auxiliaryservices"
	if user != "" {
		url += "?user.name=" + user
	}
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPut, url, body)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Content-Type", asJSON)
	return webanswer.To(m.t, req)
}

func (m *manifestLab) list(services ...string) *strings.Reader {
	return strings.NewReader(`{"services":[` + strings.Join(services, ",") + `]}`)
}

// versions are those of the services that the node says it has.
func (m *manifestLab) versions() map[string]string {
	m.t.Helper()
	got := m.web("GET", "/ws/v1/node/auxiliaryservices", "Accept", asJSON)
	var list struct {
		Services struct {
			Service []struct{ Name, Version, StartTime string }
		}
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.status != 200 {
		m.t.Fatal(got, err)
	}
	out := map[string]string{}
	for _, s := range list.Services.Service {
		if len(s.StartTime) != len("2006-01-02 15:04:05") {
			m.t.Errorf("%+v", s)
		}
		out[s.Name] = s.Version
	}
	return out
}

// until waits for what the service has recorded since the last call, and for the node's list.
func (m *manifestLab) until(what, calls string, versions map[string]string) {
	m.t.Helper()
	defer func() {
		if m.t.Failed() {
			b, _ := os.ReadFile(m.calls)
			m.t.Logf("recorded:\n%s\nwant:\n%s\nservices: %v, want %v", b, calls, m.versions(), versions)
		}
	}()
	await.Until(m.t, what, func() bool {
		b, err := os.ReadFile(m.calls)
		return (err == nil || os.IsNotExist(err)) && string(b) == calls && fmt.Sprint(m.versions()) == fmt.Sprint(versions)
	})
	if err := os.Remove(m.calls); err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
}

// told is what the service hears of beginWithSecret.
const told = "initializeContainer ann 0001/1 <memory:256, vCores:1> TASK\ninitializeApplication ann 0001 secret\n"

const begun = "init recovery=recorder handler=true loader=true\nstart\ngetMetaData\n"

// Services come, go and change their version by the manifest and by PUT, while containers run and the JVM dies.
func TestServicesOfAManifest(t *testing.T) {
	m := newManifestLab(t)
	m.write(goShuffle, m.recorder("1", ""))
	m.up()
	m.until("the manifest's services", begun, map[string]string{"mapreduce_shuffle": "", "recorder": "1"})

	if resp := m.beginWithSecret(containerID(1, 1), "exec sleep 1000"); len(resp.GetServicesMetaData()) != 2 {
		t.Fatal(resp)
	}
	m.until("the container", told, m.versions())

	shuffle := string(m.node.aux.Metadata()["mapreduce_shuffle"])
	m.write(goShuffle, m.recorder("2", ""))
	m.until("another version", "stop\n"+begun, map[string]string{"mapreduce_shuffle": "", "recorder": "2"})
	if now := string(m.node.aux.Metadata()["mapreduce_shuffle"]); now != shuffle {
		t.Error("a service that didn't change was started again")
	}
	if err := syscall.Kill(m.node.aux.Java().Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.until("the next JVM", begun+told, m.versions())

	if status, text := m.put("admin", m.list(m.recorder("2", ""))); status != 200 || text != "" {
		t.Errorf("%d %s", status, text)
	}
	m.until("no shuffle", "", map[string]string{"recorder": "2"})
	if status, text := m.put("admin", m.list(goShuffle)); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	m.until("the recorder has stopped", "stop\n", map[string]string{"mapreduce_shuffle": ""})
	if len(m.node.aux.Metadata()) != 1 {
		t.Errorf("%q", m.node.aux.Metadata())
	}

	m.stop()
	m.up() // what PUT said is forgotten, as in Hadoop
	m.until("the manifest's services", begun, map[string]string{"mapreduce_shuffle": "", "recorder": "2"})
	if err := os.Remove(m.file); err != nil {
		t.Fatal(err)
	}
	m.until("nothing without a manifest", "stop\n", map[string]string{})
}

// A node that is killed comes back with the services of its manifest, as that is then. They are told of the applications and containers that live.
func TestAKilledNodeHasTheServicesOfItsManifest(t *testing.T) {
	m, set := ofManifest(t)
	p := newProcess(t, set...)
	m.lab = p.lab
	heard := func(what, calls string) {
		t.Helper()
		await.Until(t, what, func() bool {
			b, err := os.ReadFile(m.calls)
			return err == nil && string(b) == calls
		})
		if err := os.Remove(m.calls); err != nil {
			t.Fatal(err)
		}
	}
	m.write(goShuffle, m.recorder("1", ""))
	p.launch()
	heard("the manifest's services", begun)
	m.beginWithSecret(containerID(1, 1), "echo $$ > "+p.dir+"/pid; exec sleep 1000")
	pid := p.pid("pid")
	heard("the container", told)

	p.kill()
	p.launch()
	heard("what lives", begun+told)
	p.kill()
	m.write(m.recorder("2", ""))
	p.launch()
	heard("what lives, of the manifest that has changed meanwhile", begun+told)
	if !alive(pid) {
		t.Error("the container has died with its node")
	}
	p.rm.reply(func(r *pb.NodeHeartbeatResponse) {
		r.SetApplicationsToCleanup([]*pb.ApplicationId{containerID(1, 1).Attempt.App.PB()})
	})
	heard("the end", "stopContainer ann 0001/1 <memory:256, vCores:1> TASK\nstopApplication 0001\n")
}

// A node is upgraded under its containers: its program is stopped, another release takes the file's place, is killed, and the first one comes back. Each finds the
// containers and tells the services of them.
func TestAnUpgradedNodeKeepsContainersAndServices(t *testing.T) {
	m, set := ofManifest(t)
	p := newProcess(t, append(set, "yarn.nodemanager.recovery.supervised=true", "heddle.node.id=upgraded")...)
	m.lab = p.lab
	first, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p.program = filepath.Join(t.TempDir(), "heddle")
	install := func(make func(path string) error) {
		t.Helper()
		next := p.program + ".next"
		if err := make(next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, p.program); err != nil {
			t.Fatal(err)
		}
	}
	link := func(path string) error { return os.Link(first, path) }
	heard := func(what, calls string) {
		t.Helper()
		await.Until(t, what, func() bool {
			b, err := os.ReadFile(m.calls)
			return err == nil && string(b) == calls
		})
		if err := os.Remove(m.calls); err != nil {
			t.Fatal(err)
		}
	}
	release := func(want string) {
		t.Helper()
		all := p.rm.registrations()
		last := all[len(all)-1]
		if got := last.GetHeddleCapabilities().GetRelease(); got != want || len(last.GetContainerStatuses()) != 1 {
			t.Errorf("release %q has registered with %v", got, last.GetContainerStatuses())
		}
	}
	install(link)
	m.write(goShuffle, m.recorder("1", ""))
	p.launch()
	heard("the manifest's services", begun)
	m.beginWithSecret(containerID(1, 1), "echo $$ > "+p.dir+"/pid; until [ -e "+p.dir+"/go ]; do sleep 0.1; done; exit 5")
	pid := p.pid("pid")
	heard("the container", told)

	p.stop()
	heard("the end of its service", "stop\n")
	install(func(path string) error { return build(path, "-ldflags", "-X heddle/conf.Version=next") })
	p.launch()
	release("next")
	heard("what lives, of the next release", begun+told)
	p.kill()
	install(link)
	p.launch()
	release(conf.Version)
	heard("what lives, of the former release", begun+told)
	if !alive(pid) {
		t.Fatal("the container has died with its node")
	}
	p.touch("go")
	p.rm.seen("its exit code", func(all []*pb.NodeHeartbeatRequest) bool {
		return slices.ContainsFunc(all, func(b *pb.NodeHeartbeatRequest) bool {
			return slices.ContainsFunc(b.GetNodeStatus().GetContainersStatuses(), func(s *pb.ContainerStatus) bool {
				return s.GetState() == pb.ContainerState_C_COMPLETE && s.GetExitStatus() == 5
			})
		})
	})
}

// Whatever a manifest and a PUT say, the node and the services that run go on.
func TestManifestsThatAreHostile(t *testing.T) {
	m := newManifestLab(t)
	m.write(m.recorder("1", ""))
	m.up()
	here := map[string]string{"recorder": "1"}
	m.until("the services", begun, here)
	unchanged := func(what string) {
		t.Helper()
		if got := m.versions(); fmt.Sprint(got) != fmt.Sprint(here) {
			t.Errorf("%s: %v", what, got)
		}
	}
	million := `{"name":"a"}` + strings.Repeat(`,{"name":"a"}`, 100_000)
	for _, q := range []struct {
		what, user string
		body       io.Reader
		status     int
		text       string
	}{
		{"no name", "", m.list(), 403, ""},
		{"no administrator", "ann", m.list(), 403, ""},
		{"null", "admin", strings.NewReader("null"), 400, ""},
		{"no JSON", "admin", strings.NewReader("<services/>"), 404, "JsonParseException"},
		{"no UTF-8", "admin", m.list("{\"name\":\"\xff\xfe\"}", m.recorder("1", "")), 500, "is invalid"},
		{"two lists", "admin", strings.NewReader(`{"services":[]}{"services":[]}`), 404, "something comes after it"},
		{"very many services", "admin", strings.NewReader(`{"services":[` + million + `]}`), 413, "at most 1048576 bytes"},
		{"many services", "admin", m.list(million[:101*13-1]), 404, "at most 100 auxiliary services"},
		{"endless", "admin", endless{}, 413, "larger than"},
		{"a path as name", "admin", m.list(m.recorder("1", ""), `{"name":"../../x","configuration":{"properties":{"class.name":"a"}}}`), 500, "should only contain"},
		{"a path as class", "admin", m.list(m.recorder("1", ""), `{"name":"x","configuration":{"properties":{"class.name":"../x"}}}`), 500, "name of a class"},
		{"no class", "admin", m.list(m.recorder("1", ""), `{"name":"x"}`), 500, "class name not provided"},
		{"no such class", "admin", m.list(m.recorder("1", ""), `{"name":"x","configuration":{"properties":{"class.name":"a.B"}}}`), 500, "ClassNotFoundException"},
		{"no such file", "admin", m.list(m.recorder("1", ""), `{"name":"x","configuration":{"properties":{"class.name":"a.B"},"files":[{"type":"STATIC","src_file":"file:///nosuch.jar"}]}}`), 500, "nosuch.jar"},
		{"no such type", "admin", m.list(m.recorder("1", ""), `{"name":"x","configuration":{"properties":{"class.name":"a.B"},"files":[{"src_file":"/x"}]}}`), 500, "STATIC or ARCHIVE"},
		{"it throws", "admin", m.list(m.recorder("1", ""), strings.Replace(m.recorder("1", `,"recorder.init":"throw"`), "recorder", "other", 1)), 500, "told to fail"},
	} {
		if status, text := m.put(q.user, q.body); status != q.status || !strings.Contains(text, q.text) || q.text == "" && text != "" {
			t.Errorf("%s: %d %.500s; want %d %s", q.what, status, text, q.status, q.text)
		}
		unchanged(q.what)
	}

	if err := os.Chmod(filepath.Dir(m.file), 0o777); err != nil {
		t.Fatal(err)
	}
	m.write()
	m.complaint("must not be writable by group or others")
	unchanged("a folder that all may write to")
	if err := os.Chmod(filepath.Dir(m.file), 0o755); err != nil {
		t.Fatal(err)
	}
	m.until("it may be used again", "init recovery=other handler=true loader=true\nstop\nstop\n", map[string]string{})

	m.write(m.recorder("3", ""))
	m.until("the service is back", begun, map[string]string{"recorder": "3"})
	here = map[string]string{"recorder": "3"}
	for what, test := range map[string]struct {
		text, want string
		owner      int
	}{
		"another's":         {`{"services":[]}`, "Manifest must be owned by YARN admin", 1},
		"no JSON":           {"\xff\xfe", "is a JSON object", 0},
		"too long":          {strings.Repeat(" ", 2<<20), "longer than allowed", 0},
		"services, no list": {`{"services":5}`, "is a JSON object", 0},
	} {
		if err := os.WriteFile(m.file+".new", []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chown(m.file+".new", test.owner, -1), os.Rename(m.file+".new", m.file)); err != nil {
			t.Fatal(err)
		}
		m.complaint(test.want)
		unchanged(what)
	}
}

// A service that never finishes its start costs one JVM: the next one runs the others.
func TestAServiceThatHangsAtReload(t *testing.T) {
	m := newManifestLab(t)
	m.set = append(m.set, "heddle.nodemanager.java.patience-ms=3000")
	m.write(m.recorder("1", ""))
	m.up()
	await.Until(t, "services", func() bool { return m.node.aux.Java().Status().Up })
	pid := m.node.aux.Java().Status().PID
	status, text := m.put("admin", m.list(m.recorder("1", ""), strings.Replace(m.recorder("1", `,"recorder.init":"hang"`), "recorder", "other", 1)))
	if status != 500 || !strings.Contains(text, "auxiliary service other") || !strings.Contains(text, "deadline exceeded") {
		t.Errorf("%d %s", status, text)
	}
	await.Until(t, "another JVM", func() bool { s := m.node.aux.Java().Status(); return s.Up && s.PID != pid })
	if got := fmt.Sprint(m.versions()); got != "map[recorder:1]" || len(m.node.aux.Metadata()) != 1 {
		t.Errorf("%s, %q", got, m.node.aux.Metadata())
	}
}

// endless is a body without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
