package frameworks

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/integration/hadooplab"
)

// TestDask runs a Dask cluster by dask-yarn, with Dask's scheduler in the client and in a container. It grows and shrinks.
func TestDask(t *testing.T) {
	l := lab.Lab(t)
	// dask-yarn 0.9 is its newest release, and needs a Dask of its time
	site, err := hadooplab.PyPI(t.Context(), "dask-yarn-0.9", "dask-yarn==0.9", "skein==0.8.2", "dask==2021.10.0", "distributed==2021.10.0",
		"click<8.1", "tornado<6.2", "protobuf<3.21", "setuptools<80")
	if err != nil {
		t.Fatal("fetching dask-yarn: ", err)
	}
	env, dir := skeinEnv(t, l, site)
	python := filepath.Join(dir, "python")
	if err := os.WriteFile(python, []byte("#!/bin/sh\nPYTHONPATH="+site+" exec python3 \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"local", "remote"} {
		cmd := exec.Command("python3", "testdata/play_dask.py", python, mode)
		cmd.Env = env
		r := succeed(t, l, cmd)
		contains(t, r.Stdout, mode+" 328350\n"+mode+" grown to 3\n"+mode+" 5050\n")
	}
}
