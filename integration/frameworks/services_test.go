package frameworks

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

//go:embed testdata/services.xml
var servicesPOM []byte

// service has components of which one waits for another.
const service = `{
  "name": "bakery", "version": "1", "queue": "default",
  "components": [
    {"name": "oven", "number_of_containers": 2, "launch_command": "sleep 600", "resource": {"cpus": 1, "memory": "128"}},
    {"name": "shop", "number_of_containers": 1, "launch_command": "sleep 600", "resource": {"cpus": 1, "memory": "128"}, "dependencies": ["oven"]}
  ]
}`

// serviceStatus is what "yarn app -status" tells of a service.
type serviceStatus struct {
	ID         string
	State      string
	Components []struct {
		Name       string
		State      string
		Containers []struct{ ID, State string }
	}
}

// ready are the containers of a component that are.
func (s serviceStatus) ready(component string) (ids []string) {
	for _, c := range s.Components {
		for _, container := range c.Containers {
			if c.Name == component && container.State == "READY" {
				ids = append(ids, container.ID)
			}
		}
	}
	return ids
}

// bakery is a client of YARN's services.
type bakery struct {
	lab        *hadooplab.Lab
	conf, jars string
	user       string // "": this process's
}

func newBakery(t *testing.T, l *hadooplab.Lab) bakery {
	t.Helper()
	jars, err := hadooplab.Maven(t.Context(), "services", servicesPOM)
	if err != nil {
		t.Fatal("fetching YARN's services: ", err)
	}
	b := bakery{lab: l, conf: t.TempDir(), jars: jars}
	if err := os.CopyFS(b.conf, os.DirFS(l.Conf())); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(b.conf, "yarn-site.xml")
	text, err := os.ReadFile(site)
	if err != nil {
		t.Fatal(err)
	}
	var more strings.Builder
	for key, value := range map[string]string{
		"hadoop.registry.zk.quorum":                              startRegistry(t, l),
		"yarn.service.am-resource.memory":                        "512",
		"yarn.service.am.java.opts":                              "-Xmx384m -XX:TieredStopAtLevel=1",
		"yarn.application.admin.client.class.yarn-service":       "org.apache.hadoop.yarn.service.client.ServiceClient",
		"yarn.service.container-failure.retry.max":               "0",
		"yarn.service.container-failure-per-component.threshold": "20",
	} {
		more.WriteString("<property><name>" + key + "</name><value>" + value + "</value></property>")
	}
	text = []byte(strings.Replace(string(text), "</configuration>", more.String()+"</configuration>", 1))
	if err := os.WriteFile(site, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return b
}

// startRegistry starts ZooKeeper and returns where it is.
func startRegistry(t *testing.T, l *hadooplab.Lab) string {
	t.Helper()
	source, err := filepath.Abs("testdata/Registry.java")
	if err != nil {
		t.Fatal(err)
	}
	c := begin(t, l, l.JavaCommand(".", source, t.TempDir()))
	address := regexp.MustCompile(`REGISTRY (.*)\.\n`)
	var m []string
	await.Slowly(t, "the registry is up", func() bool {
		m = address.FindStringSubmatch(c.Stderr())
		return m != nil || c.Ended()
	})
	if m == nil {
		t.Fatal("no registry\n", c.Stderr())
	}
	return m[1]
}

// command is one of "yarn app".
func (b bakery) command(args ...string) *exec.Cmd {
	cmd := b.lab.JavaCommand(b.conf+":"+filepath.Join(b.jars, "*"), "org.apache.hadoop.yarn.client.cli.ApplicationCLI", append([]string{"app"}, args...)...)
	i := slices.Index(cmd.Args, "-cp")
	classes := strings.Split(cmd.Args[i+1], ":")
	lib := "-Dservice.libdir=" + filepath.Dir(classes[len(classes)-1]) + "," + b.jars // which the ApplicationMaster gets
	cmd.Args = slices.Insert(cmd.Args, i, lib)
	if b.user != "" {
		cmd.Env = append(cmd.Environ(), "HADOOP_USER_NAME="+b.user)
	}
	return cmd
}

func (b bakery) app(t *testing.T, args ...string) hadooplab.Result {
	t.Helper()
	return succeed(t, b.lab, b.command(args...))
}

// status waits for one that is as wished.
func (b bakery) status(t *testing.T, what string, as func(serviceStatus) bool) (s serviceStatus) {
	t.Helper()
	await.Slowly(t, what, func() bool {
		s = serviceStatus{}
		out := b.app(t, "-status", "bakery").Stdout
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return as(s)
	})
	return s
}

// TestServices lets YARN's own framework of services run one: launched, made larger, healed when a container is lost, stopped.
func TestServices(t *testing.T) {
	l := lab.Lab(t)
	b := newBakery(t, l)
	spec := filepath.Join(t.TempDir(), "bakery.json")
	if err := os.WriteFile(spec, []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	b.app(t, "-launch", "bakery", spec)
	first := b.status(t, "the service is stable", func(s serviceStatus) bool { return s.State == "STABLE" })
	t.Cleanup(func() { _, _ = l.Run(t.Context(), "yarn", "app", "-kill", first.ID) })
	if len(first.ready("oven")) != 2 || len(first.ready("shop")) != 1 {
		t.Errorf("%+v", first)
	}
	b.app(t, "-flex", "bakery", "-component", "oven", "3")
	larger := b.status(t, "there are three ovens", func(s serviceStatus) bool { return len(s.ready("oven")) == 3 })
	lost := larger.ready("oven")[0]
	if _, err := l.Run(t.Context(), "yarn", "container", "-signal", lost, "FORCEFUL_SHUTDOWN"); err != nil {
		t.Fatal(err)
	}
	b.status(t, "another oven has come", func(s serviceStatus) bool {
		ovens := s.ready("oven")
		return len(ovens) == 3 && !slices.Contains(ovens, lost)
	})
	b.app(t, "-stop", "bakery")
	contains(t, l.Status(t, first.ID), "Application-Type : yarn-service\n", "State : FINISHED\n", "Final-State : ENDED\n")
	b.app(t, "-destroy", "bakery")
	if r, err := l.Try(t.Context(), "", "hdfs", "dfs", "-test", "-e", ".yarn/services/bakery"); err != nil || r.Code == 0 {
		t.Errorf("it is still there: %+v, %v", r, err)
	}
}
