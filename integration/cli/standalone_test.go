package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/cluster"
	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/internal/ports"
	"heddle/internal/publicdir"
)

// alone is heddle standalone without a configuration folder, run by root in a folder of its own.
type alone struct {
	t        *testing.T
	dir, web string
	program  string   // the path of heddle
	set      []string // settings of the daemon and its clients
}

// root skips the test of others.
func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it is about what root's daemon does")
	}
}

func newAlone(t *testing.T, more map[string]string) *alone {
	t.Helper()
	root(t)
	a := &alone{t: t, dir: publicdir.New(t, ""), program: heddle}
	free := ports.Loopback(t, 8)
	a.web = free[0]
	keys := map[string]string{
		"hadoop.tmp.dir": a.dir + "/tmp", "yarn.app.mapreduce.am.staging-dir": a.dir + "/staging", "yarn.nodemanager.remote-app-log-dir": a.dir + "/logs",
		"yarn.resourcemanager.webapp.address": a.web, "yarn.resourcemanager.address": free[1], "yarn.resourcemanager.scheduler.address": free[2],
		"yarn.resourcemanager.resource-tracker.address": free[3], "yarn.resourcemanager.admin.address": free[4],
		"yarn.nodemanager.address": free[5], "yarn.nodemanager.webapp.address": free[6], "yarn.nodemanager.localizer.address": free[7],
		"yarn.scheduler.minimum-allocation-mb":                                          "256",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
	}
	maps.Copy(keys, more)
	for key, value := range keys {
		a.set = append(a.set, "-D", key+"="+value)
	}
	cluster.Standalone(t, a.program, a.dir, a.env(), a.set...)
	await.Slowly(t, "the node is there", func() bool { return strings.Contains(a.get("/ws/v1/cluster/metrics"), `"activeNodes":1,`) })
	return a
}

// A newcomer is told in three lines, before the log and its warnings, where the pages are and how to run something.
func TestStandaloneGreets(t *testing.T) {
	a := newAlone(t, nil)
	said, err := os.ReadFile(filepath.Join(a.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(a.web)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(said), "\n", 5)
	page, _, _ := strings.Cut(strings.TrimPrefix(lines[0], "Heddle runs: "), " ")
	if page != "http://localhost:"+port+"/cluster" || !strings.Contains(lines[1], "heddle xargs") || !strings.Contains(lines[2], "Only this machine") {
		t.Errorf("it begins with %q", lines)
	}
	if len(lines) < 5 || !strings.Contains(lines[3], "level=") || !strings.Contains(string(said), "level=warning") {
		t.Errorf("the log with its warnings doesn't follow: %q", lines)
	}
	_, command, _ := strings.Cut(lines[1], ": ")
	cmd := exec.Command("sh", "-c", strings.Replace(command, "heddle xargs", a.open()+` xargs "$@"`, 1), "sh")
	cmd.Args = append(cmd.Args, a.set...)
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "hello ") != 3 {
		t.Errorf("%s: %v: %s", command, err, out)
	}
}

// open copies the program to where nobody's containers may take it from, and returns its path.
func (a *alone) open() string {
	a.t.Helper()
	program, err := os.ReadFile(heddle)
	if err != nil {
		a.t.Fatal(err)
	}
	open := filepath.Join(a.dir, "heddle")
	if err := os.WriteFile(open, program, 0o755); err != nil {
		a.t.Fatal(err)
	}
	return open
}

func (a *alone) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(a.program, append([]string{name}, args...)...)
	cmd.Dir = "/"
	cmd.Env = a.env()
	return cmd
}

func (a *alone) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "USER=root"}
}

func (a *alone) run(name string, args ...string) string {
	a.t.Helper()
	out, err := a.command(name, args...).CombinedOutput()
	if err != nil {
		a.t.Fatalf("heddle %s: %v\n%s", name, err, out)
	}
	return string(out)
}

func (a *alone) get(path string) string {
	_, text := a.ask(http.MethodGet, path)
	return text
}

// ask sends a request without a body, and returns the status and text of the answer, or 0 and why there is none.
func (a *alone) ask(method, path string) (status int, text string) {
	req, err := http.NewRequestWithContext(a.t.Context(), method, "http://"+a.web+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

func (a *alone) post(path, body string) string {
	a.t.Helper()
	resp, err := http.Post("http://"+a.web+path, "application/json", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		a.t.Fatalf("%s: %s: %s %v", path, resp.Status, text, err)
	}
	return string(text)
}

// Containers that run as nobody must get to their folders, which root's daemon has made.
func TestStrangersAtRootsStandaloneAreNobody(t *testing.T) {
	a := newAlone(t, nil)
	var app struct {
		ID string `json:"application-id"`
	}
	if err := json.Unmarshal([]byte(a.post("/ws/v1/cluster/apps/new-application", "")), &app); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(a.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	who := filepath.Join(a.dir, "who")
	a.post("/ws/v1/cluster/apps", fmt.Sprintf(`{"application-id":%q,"application-name":"x","max-app-attempts":1,"resource":{"memory":256,"vCores":1},
		"am-container-spec":{"commands":{"command":"id -u > %s.new && mv %[2]s.new %[2]s"}}}`, app.ID, who))
	uid := await.Value(t, "the command has run", func() (string, bool) {
		text, err := os.ReadFile(who)
		return strings.TrimSpace(string(text)), err == nil
	})
	if uid == "0" {
		t.Error("a stranger's command runs as root")
	}
}

// What root submits runs as nobody, who has to get at the staged files.
func TestRootsJobsInStandaloneRunAsNobody(t *testing.T) {
	a := newAlone(t, nil)
	in, out := filepath.Join(a.dir, "in"), filepath.Join(a.dir, "out")
	if err := os.WriteFile(in, []byte("a b a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	job := func() *exec.Cmd {
		return a.command("mr", append(a.set, "-input", in, "-output", out, "-mapper", `tr -cs A-Za-z '\n'`, "-reducer", "uniq -c")...)
	}
	said, err := job().CombinedOutput()
	if err == nil || !strings.Contains(string(said), "containers run as nobody, which can't create the output in "+a.dir) {
		t.Errorf("with an output that nobody may write: %v\n%s", err, said)
	}
	if err := os.Chmod(a.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if said, err := job().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if got, err := os.ReadFile(filepath.Join(out, "part-00000")); strings.Join(strings.Fields(string(got)), " ") != "2 a 1 b" {
		t.Errorf("the result is %q, %v", got, err)
	}
	app := regexp.MustCompile(`application_\d+_\d+`).FindString(a.run("app", append([]string{"-list", "-appStates", "FINISHED"}, a.set...)...))
	await.Slowly(t, "the logs are there", func() bool {
		text, err := a.command("logs", append([]string{"-applicationId", app}, a.set...)...).Output()
		return err == nil && strings.Contains(string(text), "End of LogType:stderr")
	})
	left, err := os.ReadDir(filepath.Join(a.dir, "staging", "root", ".staging"))
	if err != nil || len(left) > 0 {
		t.Errorf("staged files are left: %v, %v", left, err)
	}
}

// Without a configuration heddle xargs and heddle.Executor find heddle standalone of the same user or of root, which listens at the default ports. Those of a stranger they don't
// use, and without any they run here.
func TestToolsFindStandaloneWithoutAConfiguration(t *testing.T) {
	root(t)
	a := &alone{t: t, dir: publicdir.New(t, "")}
	library, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	const script = `ip link set lo up
where() { echo $1 | "$H" xargs $2 -n1 sh -c 'echo $0 ${CONTAINER_ID:-here}' | sed s/container_.*/there/; }
begin() {
	"$@" "$H" standalone -D hadoop.tmp.dir="$PWD/$1" -D yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=99.5 >"$1.log" 2>&1 & daemon=$!
	trap 'kill $daemon; wait $daemon; cat "$PWD"/*.log >&2' EXIT
	until "$H" node -list 2>/dev/null | grep -q RUNNING; do kill -0 $daemon || exit 1; done
}
where nobody
install -d -o 65534 -g 65534 setpriv
begin setpriv --reuid 65534 --regid 65534 --clear-groups
where strangers
kill $daemon; wait $daemon
begin env
where ours
where local --local
"$PYTHON" -c 'import heddle, os
with heddle.Executor(2) as x: print("calls", "there" if x.submit(os.getenv, "CONTAINER_ID").result() else "here")'
`
	open := a.open()
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "unshare"), "-n", "sh", "-c", script)
	cmd.Dir = a.dir
	cmd.Env = []string{
		"PATH=" + a.dir + ":" + os.Getenv("PATH"), "HOME=" + a.dir, "USER=root", "H=" + open, "PYTHONPATH=" + library, "PYTHON=" + needs.Program(t, "python3"),
		"PYTHONDONTWRITEBYTECODE=1",
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if want := "nobody here\nstrangers here\nours there\nlocal here\ncalls there\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, not %s\n%s", err, out, want, &said)
	}
}

// The reason why no node can run commands is said once, not by the command and by a line of its log again.
func TestXargsSaysOnceWhyNothingRuns(t *testing.T) {
	a := newAlone(t, nil)
	cmd := a.command("xargs", append(append([]string{"--probes"}, a.set...), "-n1", "echo")...)
	cmd.Stdin = strings.NewReader("1\n2\n3\n")
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "no node of the cluster takes probes"); err == nil || n != 1 || strings.Contains(string(out), "level=") {
		t.Errorf("%v; said %d times:\n%s", err, n, out)
	}
}

// A run of commands says how far it is, and whoever killed it is named once.
func TestXargsTellsHowFarItIsAndWhoKilledIt(t *testing.T) {
	a := newAlone(t, nil)
	a.program = a.open()
	dir := publicdir.New(t, a.dir)
	cmd := a.command("xargs", append(slices.Clone(a.set), "-n1", "-P4", "sh", "-c", `[ $0 -le 2 ] || until [ -e `+dir+`/go ]; do sleep 0.1; done`)...)
	cmd.Stdin = strings.NewReader("1\n2\n3\n4\n")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var app string
	await.Slowly(t, "half of it is done", func() bool {
		var page struct {
			Apps struct {
				App []struct {
					ID       string
					Progress float64
				}
			}
		}
		if err := json.Unmarshal([]byte(a.get("/ws/v1/cluster/apps")), &page); err != nil || len(page.Apps.App) != 1 {
			return false
		}
		app = page.Apps.App[0].ID
		return page.Apps.App[0].Progress == 50
	})
	a.run("app", append([]string{"-kill", app}, a.set...)...)
	err := cmd.Wait()
	if n := strings.Count(said.String(), "was killed by"); err == nil || n != 1 || strings.Contains(said.String(), "ended well") {
		t.Errorf("%v; said %d times:\n%s", err, n, &said)
	}
}
