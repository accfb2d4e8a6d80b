package images

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/imagetest"
	"heddle/internal/needs"
	"heddle/internal/publicdir"
)

const (
	user    = "games" // every Debian has it
	python  = "/usr/bin/python3.11"
	library = "/usr/lib/python3.11"
	runtime = "yarn.nodemanager.runtime.linux."
)

// pythonLayer has the library of this machine's Python.
func pythonLayer(t *testing.T) imagetest.Layer {
	t.Helper()
	entries := []imagetest.Entry{imagetest.Link("bin/python3", filepath.Base(python)), imagetest.File("of-image", "of the image\n")}
	err := filepath.WalkDir(library, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.Contains(path, "test") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(path, ".a") {
			return err
		}
		text, err := os.ReadFile(path)
		entries = append(entries, imagetest.Entry{Header: tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: 0o644, ModTime: info.ModTime()}, Content: text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return imagetest.Tar(t, entries...)
}

// All containers of a job of `heddle mr` run in an image with Python, as their user: the ApplicationMaster, and mappers in Python. The
// NodeManager is killed with SIGKILL and started again meanwhile.
func TestAJobRunsInAnImageWithPython(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs a job in an image with Python")
	}
	needs.Program(t, "crun")
	dir := publicdir.New(t, "")
	i := imagetest.Image{Layers: []imagetest.Layer{imagetest.Programs(t, python, "cat", "sh", "sort", "ln", "mkdir", "ls", "cp", "chmod", "find"), pythonLayer(t)}, Gzip: true}
	i.Archive(t, dir+"/images/team/python/3.tar", "3")
	binary := program(t, dir)
	l := start(t, binary, dir, nil)
	in, out := dir+"/in", dir+"/job/out"
	if err := os.WriteFile(in, []byte(strings.Repeat("a line\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/job", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/job", 0o777); err != nil {
		t.Fatal(err)
	}
	mapper := fmt.Sprintf(`python3 -c "
import sys, os, time
n = sum(1 for _ in sys.stdin)
open('%[1]s/job/began', 'w').close()
while not os.path.exists('%[1]s/job/go'): time.sleep(0.05)
print(open('/of-image').read().strip(), os.getuid(), n)"`, dir)
	cmd := exec.Command(binary, "mr", "-conf", l.Conf(), "-input", "file://"+in, "-output", "file://"+out, "-mapper", mapper, "-numReduceTasks", "0")
	cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+user)
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	await.Slowly(t, "a mapper", func() bool {
		_, err := os.Stat(dir + "/job/began")
		return err == nil || len(ended) > 0
	})
	node := l.Daemon("nodemanager1")
	node.Kill()
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/job/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	parts, err := filepath.Glob(out + "/part-*")
	if err != nil || len(parts) == 0 {
		t.Fatalf("%v, %v\n%s", parts, err, text.String())
	}
	got, err := os.ReadFile(parts[0])
	if want := "of the image 5 1000"; err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// program builds heddle where all users can run it.
func program(t *testing.T, dir string) string {
	t.Helper()
	built, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	path := filepath.Join(dir, "heddle")
	if err := os.Rename(built, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts a node that runs all containers in the image.
func start(t *testing.T, binary, dir string, more map[string]string) *hadooplab.Lab {
	t.Helper()
	site := map[string]string{
		"yarn.nodemanager.container-executor.class":                            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
		"heddle.container.allowed-system-users":                                user,
		"heddle.nodemanager.images.dirs":                                       dir + "/images",
		"yarn.app.mapreduce.am.staging-dir":                                    dir + "/job/staging",
		runtime + "allowed-runtimes":                                           "docker",
		runtime + "type":                                                       "docker",
		runtime + "docker.image-name":                                          "team/python:3",
		runtime + "docker.default-rw-mounts":                                   dir + "/job:" + dir + "/job",
		runtime + "docker.default-ro-mounts":                                   dir + "/in:" + dir + "/in",
	}
	maps.Copy(site, more)
	cfg := "[docker]\nmodule.enabled=true\ndocker.trusted.registries=team\ndocker.allowed.networks=host\ndocker.allowed.rw-mounts=" + dir + "/job\ndocker.allowed.ro-mounts=" + dir + "/in\n"
	if err := os.Mkdir(dir+"/lab", 0o755); err != nil {
		t.Fatal(err)
	}
	return hadooplab.Start(t, hadooplab.Options{
		Dir: dir + "/lab", ResourceManager: true, NodeManagers: 1, Heddle: binary, Site: site, Files: map[string]string{"container-executor.cfg": cfg},
	})
}
