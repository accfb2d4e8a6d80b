package frameworks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

const skeinSpec = `
name: strange
queue: default
tags: [one, two]
services:
  worker:
    instances: 2
    resources: {memory: 256 MiB, vcores: 1}
    script: sleep 600
`

// TestSkein lets Skein's client and ApplicationMaster scale an application, lose containers of it, move it and end it.
func TestSkein(t *testing.T) {
	l := lab.Lab(t)
	// what Skein's generated code needs is older than what pip would take
	site, err := hadooplab.PyPI(t.Context(), "skein-0.8.2", "skein==0.8.2", "protobuf<3.21", "setuptools<80")
	if err != nil {
		t.Fatal("fetching Skein: ", err)
	}
	env, dir := skeinEnv(t, l, site)
	spec := filepath.Join(dir, "spec.yaml")
	if err := os.WriteFile(spec, []byte(skeinSpec), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "testdata/play_skein.py", spec)
	cmd.Env = env
	r := succeed(t, l, cmd)
	contains(t, r.Stdout,
		"queues [('default', 'RUNNING', 100.0)]\nnodes [('RUNNING', 8192, 8)]\n",
		"report strange RUNNING UNDEFINED root.default ['one', 'two']\n", "kv {'key': b'value'}\nscaled 3\nkilled [True]\n",
		"move The specified Queue: nowhere doesn't exist\nended FINISHED SUCCEEDED enough\nended KILLED KILLED\n",
		"ended FINISHED FAILED Application driver failed with exit code 3, see logs for more information.\n",
		"unknown Unknown ApplicationId 'application_1_0001'\n",
	)
	if t.Failed() {
		t.Log(r.Stderr)
	}
}

// skeinEnv is the environment of a program that uses the Skein in site, and a folder for the test's files. Skein asks a command yarn for the class path.
func skeinEnv(t *testing.T, l *hadooplab.Lab, site string) (env []string, dir string) {
	t.Helper()
	jar, err := l.Jar("hadoop-common")
	if err != nil {
		t.Fatal(err)
	}
	jars, err := filepath.Glob(filepath.Join(filepath.Dir(jar), "*.jar"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	yarn := "#!/bin/sh\n[ \"$1\" = classpath ] && echo '" + l.Conf() + ":" + strings.Join(jars, ":") + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "yarn"), []byte(yarn), 0o755); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "PYTHONPATH="+site, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python", "HADOOP_CONF_DIR="+l.Conf(),
		"PATH="+dir+":"+os.Getenv("PATH"), "SKEIN_CONFIG="+filepath.Join(dir, "skein")), dir
}
