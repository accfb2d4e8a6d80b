package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	app       = "application_1795263726349_0023"
	container = "container_1795263726349_0023_01_000001"
)

// stockEnvironment is what a stock NodeManager was given when it wrote testdata/stock-launch_container.sh.
func stockEnvironment(expand func(string) string) Environment {
	e := Environment{
		App: map[string]string{
			"A": `a b "c" $HOME 'q' \ back \$X {{X}}-{{Y_1}}-{{}}-{{a b}} `, "NL": "one\ntwo", "P": "%A%", "CLASSPATH": "a<CPS>b",
			"APPLICATION_WEB_PROXY_BASE": "/proxy/" + app, "APP_SUBMIT_TIME_ENV": "1795263873705",
		},
		TokensFile:  "/srv/yarn/local/usercache/root/appcache/" + app + "/" + container + "/container_tokens",
		ContainerID: container, Host: "localhost", Port: 26041, HTTPPort: 26042,
		LocalDirs: []string{"/srv/yarn/local/usercache/root/appcache/" + app},
		UserDirs:  []string{"/srv/yarn/local/usercache/root/"},
		LogDirs:   []string{"/srv/yarn/log/" + app + "/" + container},
		User:      "root", Home: "/home/",
		WorkDir:             "/srv/yarn/local/usercache/root/appcache/" + app + "/" + container,
		LocalizationCounter: "54,0,3,0,157",
		AuxServices:         map[string][]byte{"mapreduce_shuffle": {0, 0, 0x65, 0xce}},
		Whitelist:           strings.Split("JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,HADOOP_YARN_HOME,PATH,LANG,TZ", ","),
		Admin:               "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX",
		Own:                 own,
	}
	for k, v := range e.App {
		e.App[k] = expand(v)
	}
	return e
}

func own(name string) (string, bool) {
	v, ok := map[string]string{"HADOOP_CONF_DIR": "/srv/yarn/conf", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}[name]
	return v, ok
}

// The script says the same as the one of a stock NodeManager. Only the order of the application's variables and links
// differs (stock has that of a hash table), and folders are quoted.
func TestScriptEqualsStock(t *testing.T) {
	want, err := os.ReadFile("testdata/stock-launch_container.sh")
	if err != nil {
		t.Fatal(err)
	}
	x := Expander{LogDir: "/srv/yarn/log/" + app + "/" + container}
	inherit, env := stockEnvironment(x.Expand).Vars()
	command := "env | sort > <LOG_DIR>/env; (ls -la; stat -c '%A %n' * .; id; umask; echo $0 $SHLVL; ps -o pid,ppid,pgid,sid,args -e | tail -12; " +
		"ls -la /proc/self/fd) > <LOG_DIR>/x; exit 3"
	cache := "/srv/yarn/local/usercache/root/appcache/" + app + "/filecache/"
	got, err := Script{
		LogDir: x.LogDir, Inherit: inherit, Env: env, Debug: true, Command: []string{x.Expand(command)},
		Links: []Link{{"dir/sub/link", cache + "10/f2"}, {"plain", cache + "12/f1"}, {"with space", cache + "11/f3"}},
	}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	sorted := func(text string) []string {
		text = strings.ReplaceAll(text, "mkdir -p dir/sub\n", "mkdir -p -- \"dir/sub\"\n")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		from := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "export HADOOP_CONF_DIR=") })
		to := slices.Index(lines, `echo "Copying debugging information"`)
		slices.Sort(lines[from:to])
		return lines
	}
	if diff := cmp.Diff(sorted(string(want)), sorted(string(got))); diff != "" {
		t.Error(diff)
	}
}

func TestOrderOfVariables(t *testing.T) {
	e := Environment{
		App: map[string]string{
			"A": "$D/x", "B": "${C}:$A", "C": "$B", "D": "1", "Z": "$Z:1",
			"CONTAINER_ID": "mine", "HOME": "/evil", "JVM_PID": "1", "PATH": "/x:$PATH",
		},
		Whitelist: []string{" LANG", "PATH", "HOME", "NONE", ""}, Own: own, ContainerID: container, Home: "/home/",
	}
	inherit, env := e.Vars()
	if diff := cmp.Diff([]Var{{"LANG", "C.UTF-8"}}, inherit); diff != "" {
		t.Error(diff)
	}
	at := func(name string) int { return slices.IndexFunc(env, func(v Var) bool { return v.Name == name }) }
	for _, pair := range [][2]string{{"D", "A"}, {"A", "B"}, {"JVM_PID", "A"}} {
		if at(pair[0]) > at(pair[1]) {
			t.Errorf("%s comes after %s", pair[0], pair[1])
		}
	}
	for name, want := range map[string]string{"CONTAINER_ID": container, "HOME": "/home/", "JVM_PID": "$$", "PATH": "/x:$PATH"} {
		if got := env[at(name)].Value; got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
	}
}

// What the application can't override comes first and once, whatever it tries.
func TestFactsWin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"A", "B", "HOME", "USER", "PWD", "CONTAINER_ID", "LOG_DIRS", "PATH", "NM_AUX_SERVICE_x"})
		e := Environment{
			App:         rapid.MapOf(name, rapid.StringMatching(`[a-z$A{}:]{0,10}`)).Draw(t, "app"),
			ContainerID: container, Home: "/home/", User: "u", Own: own, Whitelist: []string{"PATH"},
			AuxServices: map[string][]byte{"x": {1}}, Admin: "B=$A",
		}
		_, env := e.Vars()
		seen := make(map[string]bool)
		for _, v := range env {
			if seen[v.Name] {
				t.Fatalf("%s is set twice", v.Name)
			}
			seen[v.Name] = true
			want, fact := map[string]string{
				"HOME": "/home/", "USER": "u", "CONTAINER_ID": container, "LOG_DIRS": "", "NM_AUX_SERVICE_x": "AQ==",
			}[v.Name]
			if fact && v.Value != want {
				t.Fatalf("%s=%q, want %q", v.Name, v.Value, want)
			}
		}
	})
}

func TestAdminEnvironment(t *testing.T) {
	for _, c := range []struct {
		admin string
		app   map[string]string
		want  map[string]string
	}{
		{"MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX", nil, map[string]string{"MALLOC_ARENA_MAX": ""}},
		{"MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX", map[string]string{"MALLOC_ARENA_MAX": "7"}, map[string]string{"MALLOC_ARENA_MAX": "7"}},
		{"X=1, Y=${LANG}:$X,broken,=z", map[string]string{"X": "0"}, map[string]string{"X": "0:1", "Y": "C.UTF-8:0:1"}},
		{"HOME=/evil", nil, map[string]string{}},
		{"", map[string]string{"X": "0"}, map[string]string{"X": "0"}},
	} {
		app := make(map[string]string)
		for k, v := range c.app {
			app[k] = v
		}
		Environment{Admin: c.admin, Own: own}.addAdmin(app, map[string]bool{"HOME": true})
		if diff := cmp.Diff(c.want, app); diff != "" {
			t.Errorf("%q: %s", c.admin, diff)
		}
	}
	_, env := Environment{ForcePath: "/forced", Own: own}.Vars()
	if last := env[len(env)-1]; last != (Var{"PATH", "/forced:$PATH"}) {
		t.Errorf("forced path gave %+v", last)
	}
}

func TestExpand(t *testing.T) {
	for in, want := range map[string]string{
		"{{JAVA_HOME}}/bin/java <ADD_OPENS> 1><LOG_DIR>/stdout": "$JAVA_HOME/bin/java " + addOpens + " 1>/log/c/stdout",
		"a<CPS>{{PWD}}/*": "a:$PWD/*", "": "", "}}{{": "$", "<LOG_DIR": "<LOG_DIR",
	} {
		if got := (Expander{LogDir: "/log/c", AddOpens: true}).Expand(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := (Expander{}).Expand("x <ADD_OPENS> y"); got != "x  y" {
		t.Errorf("without Java 17: %q", got)
	}
}

// Links arrive under exactly their name, whatever characters it has.
func TestLinksAreLiteral(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`([-a$"\\' *\n{}!~`+"`"+`]{1,6}/)?[-b$"\\' *\n{}!~`+"`"+`]{1,6}`).Draw(rt, "name")
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		target := filepath.Join(dir, "tar`get$HOME")
		if err := os.WriteFile(target, []byte("content"), 0o600); err != nil {
			rt.Fatal(err)
		}
		work := filepath.Join(dir, "work")
		if err := os.Mkdir(work, 0o700); err != nil {
			rt.Fatal(err)
		}
		script, err := Script{LogDir: dir, Links: []Link{{name, target}}, Command: []string{"true"}}.Bytes()
		if err != nil {
			rt.Fatal(err)
		}
		cmd := exec.Command("/bin/bash", "-c", string(script))
		cmd.Dir = work
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(filepath.Join(dir, PrelaunchErr))
			rt.Fatalf("%v: %s", err, text)
		}
		if got, err := os.Readlink(work + "/" + name); err != nil || got != target {
			rt.Fatalf("link %q: %q, %v", name, got, err)
		}
	})
}

func TestImpossibleLinks(t *testing.T) {
	for _, l := range []Link{{"/abs", "/x"}, {"", "/x"}, {"a", "relative"}, {"a\x00b", "/x"}} {
		if _, err := (Script{Links: []Link{l}}).Bytes(); err == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
}
