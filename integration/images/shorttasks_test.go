package images

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/imagetest"
	"heddle/internal/needs"
	"heddle/internal/publicdir"
)

// Where containers run in an image, short tasks do as well, as their user: in executors that an application holds, and in those that nodes keep for probes.
func TestShortTasksRunInAnImage(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	needs.Program(t, "crun")
	dir := publicdir.New(t, "")
	i := imagetest.Image{Layers: []imagetest.Layer{imagetest.Programs(t, "cat", "sh", "id", "ln", "mkdir", "ls", "cp", "chmod", "find"), imagetest.Tar(t, imagetest.File("of-image", "of the image\n"))}, Gzip: true}
	i.Archive(t, dir+"/images/team/python/3.tar", "3")
	binary := program(t, dir)
	for _, path := range []string{dir + "/in", dir + "/job"} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := start(t, binary, dir, map[string]string{"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "2"})
	var in, want strings.Builder
	for n := range 40 {
		fmt.Fprintln(&in, n)
		fmt.Fprintf(&want, "of the image\n5 %d\n", n)
	}
	for name, options := range map[string][]string{"executors": nil, "probes": {"--probes"}, "early": {"--probes", "--binding", "early"}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), binary, append(append([]string{"xargs"}, options...), "-k", "-n", "1", "-P", "4", "sh", "-c", "cat /of-image; echo $(id -u) $0")...)
			cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+user, "HADOOP_CONF_DIR="+l.Conf())
			cmd.Dir, cmd.Stdin = "/", strings.NewReader(in.String())
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if out, err := cmd.Output(); err != nil || string(out) != want.String() {
				t.Errorf("%v, %q\n%s", err, out, stderr.String())
			}
		})
	}
}
