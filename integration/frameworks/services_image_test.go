package frameworks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/imagetest"
	"heddle/internal/publicdir"
)

// kiln is a service whose container runs only in its image: the machine has no such file.
const kiln = `{
  "name": "kiln", "version": "1", "queue": "default",
  "components": [
    {"name": "oven", "number_of_containers": 2, "launch_command": "cat /of-image && sleep 600", "resource": {"cpus": 1, "memory": "128"},
     "artifact": {"id": %q, "type": "DOCKER"}}
  ]
}`

// A service of YARN's with an artifact of type DOCKER runs in that image, which the node pulls from a registry.
func TestAServiceWithAnImage(t *testing.T) {
	const user = "games" // every Debian has it
	r := imagetest.StartRegistry(t, imagetest.RegistryOptions{})
	r.Push(t, imagetest.Image{Layers: []imagetest.Layer{imagetest.Programs(t, "cat", "sleep", "ls", "cp", "chmod", "find", "mkdir", "ln"), imagetest.Tar(t, imagetest.File("of-image", "x"))}}, "team/oven", "1")
	dir := publicdir.New(t, "")
	built, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	binary := filepath.Join(dir, "heddle")
	if err := os.Rename(built, binary); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/lab", 0o755); err != nil {
		t.Fatal(err)
	}
	l := hadooplab.Start(t, hadooplab.Options{
		Dir: dir + "/lab", DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: binary,
		Site: map[string]string{
			"yarn.nodemanager.container-executor.class":                            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
			"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
			"heddle.container.allowed-system-users":                                user,
			"heddle.nodemanager.images.registries":                                 r.URL,
			"yarn.nodemanager.runtime.linux.allowed-runtimes":                      "default,docker",
		},
		Files: map[string]string{"container-executor.cfg": "[docker]\nmodule.enabled=true\ndocker.trusted.registries=" + r.Host + "\ndocker.allowed.networks=host\n"},
	})
	for _, command := range [][]string{{"-mkdir", "-p", "/user/" + user, "/tmp"}, {"-chmod", "1777", "/tmp"}, {"-chown", user, "/user/" + user}} {
		if out, err := l.Run(t.Context(), append([]string{"hdfs", "dfs"}, command...)...); err != nil {
			t.Fatal(out, err)
		}
	}
	b := newBakery(t, l)
	b.user = user
	spec := filepath.Join(t.TempDir(), "kiln.json")
	if err := os.WriteFile(spec, fmt.Appendf(nil, kiln, r.Host+"/team/oven:1"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.app(t, "-launch", "kiln", spec)
	await.Slowly(t, "the service is stable", func() bool {
		var s serviceStatus
		out := b.app(t, "-status", "kiln").Stdout
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return s.State == "STABLE" && len(s.ready("oven")) == 2
	})
	b.app(t, "-stop", "kiln")
}
